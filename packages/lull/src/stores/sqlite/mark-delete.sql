-- :name
delete from lull_mark where name = :name;
