-- Params: $1 before_ms, $2 after_ms, $3 after_id, $4 limit.
-- Rows: id, revision, log_begins_at_ms, record; conversations whose log begins before $1, oldest first, behind the
-- given one.
select id, revision, log_begins_at_ms, record from lull.lull_record
where log_begins_at_ms is not null and log_begins_at_ms < $1 and (log_begins_at_ms, id) > ($2::bigint, $3)
order by log_begins_at_ms, id limit $4;
