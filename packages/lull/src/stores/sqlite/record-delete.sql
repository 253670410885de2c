-- :id
delete from lull_record where id = :id;
