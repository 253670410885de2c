-- :id
delete from lull_log where conversation = :id;
