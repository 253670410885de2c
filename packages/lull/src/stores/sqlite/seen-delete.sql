-- :id
delete from lull_seen where conversation = :id;
