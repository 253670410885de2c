-- :id. Notes the time of the oldest log entry, for pruning. Called only when that may have changed, to spare
-- the index.
update lull_record
set log_begins_at_ms = (select at_ms from lull_log where conversation = :id order by seq limit 1)
where id = :id;
