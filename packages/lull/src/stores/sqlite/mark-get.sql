-- :name
select value from lull_mark where name = :name;
