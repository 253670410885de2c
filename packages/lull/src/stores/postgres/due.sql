-- Params: $1 clock_ms, $2 until_ms, $3 after_ms, $4 after_id, $5 limit.
-- Rows: now, id, wake_at_ms, revision, record (null: none), pause (null: none); id null if there is nothing. Timers up
-- to $2, soonest first, behind the given one. Brings the records along, so that what this release cannot read is left to others.
-- The time is a parameter and not clock_timestamp(), which, being volatile, would keep the index out of it.
select c.now, d.id, d.wake_at_ms, d.revision, d.record,
  (select m.value from lull.lull_mark m where m.name = 'pause') as pause
from lull.lull_now($1) c (now)
left join (
  select t.conversation as id, t.wake_at_ms, t.revision, r.record
  from (
    select * from lull.lull_timer
    where wake_at_ms <= $2 and (wake_at_ms, conversation) > ($3::bigint, $4)
    order by wake_at_ms, conversation limit $5
  ) t
  left join lull.lull_record r on r.id = t.conversation
) d on true
order by d.wake_at_ms, d.id;
