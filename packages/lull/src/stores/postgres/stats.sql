-- Params: $1 clock_ms, $2 count_exactly: above this many conversations their number is the planner's estimate, because
-- counting visits every one; everything else is exact.
-- Rows: now, conversations, active, due, oldest_due_at_ms, parked, handed_off.
select c.now,
  case when e.estimate > $2::bigint then e.estimate else (select count(*) from lull.lull_record) end,
  (select count(*) from lull.lull_timer),
  (select count(*) from lull.lull_timer where wake_at_ms <= c.now),
  (select min(wake_at_ms) from lull.lull_timer),
  (select count(*) from lull.lull_record where status <> 0 and status & 1 = 1),
  (select count(*) from lull.lull_record where status <> 0 and status & 2 = 2)
from lull.lull_now($1) c (now),
  (select reltuples::bigint as estimate from pg_catalog.pg_class where oid = 'lull.lull_record'::regclass) e;
