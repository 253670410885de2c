-- :after, :prefix (may be empty), :active, :parked, :handed_off (0, 1 or null: either), :limit.
-- As list.sql, walking the timers only.
select r.id, r.record from lull_timer t cross join lull_record r on r.id = t.conversation
where t.conversation >= max(:after, :prefix) and t.conversation < :prefix || x'ff' and +t.conversation > :after
  and :active = 1
  and (:parked is null or r.parked = :parked)
  and (:handed_off is null or r.handed_off = :handed_off)
order by t.conversation limit :limit;
