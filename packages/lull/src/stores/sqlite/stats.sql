-- :now_ms. Every count comes from an index.
select
  (select count(*) from lull_record) as conversations,
  (select count(*) from lull_timer) as active,
  (select count(*) from lull_timer where wake_at_ms <= :now_ms) as due,
  (select min(wake_at_ms) from lull_timer) as oldest_due_at_ms,
  (select count(*) from lull_record where parked = 1) as parked,
  (select count(*) from lull_record where handed_off = 1) as handed_off;
