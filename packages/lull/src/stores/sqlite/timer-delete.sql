-- :id
delete from lull_timer where conversation = :id;
