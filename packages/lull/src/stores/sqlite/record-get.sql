-- :id
select revision, seq, log_begins_at_ms, record from lull_record where id = :id;
