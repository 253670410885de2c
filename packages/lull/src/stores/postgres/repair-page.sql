-- Params: $1 after, $2 limit.
-- Rows: id, revision, record, wake_at_ms (null: no timer); conversations by id.
select r.id, r.revision, r.record, t.wake_at_ms
from (select * from lull.lull_record where id > $1 order by id limit $2) r
left join lull.lull_timer t on t.conversation = r.id
order by r.id;
