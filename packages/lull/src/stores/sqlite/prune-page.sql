-- :before_ms, :after_ms, :after_id, :limit. Conversations whose log begins before :before_ms, oldest first,
-- behind the given one.
select id, seq, log_begins_at_ms, record from lull_record
where log_begins_at_ms is not null and log_begins_at_ms < :before_ms
  and (log_begins_at_ms, id) > (:after_ms, :after_id)
order by log_begins_at_ms, id limit :limit;
