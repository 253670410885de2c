-- :after, :prefix (may be empty), :active, :parked, :handed_off (0, 1 or null: either), :limit.
-- As list.sql, walking the index of parked conversations only.
select r.id, r.record from lull_record r indexed by lull_record_parked
where r.parked = 1 and r.id >= max(:after, :prefix) and r.id < :prefix || x'ff' and +r.id > :after
  and (:active is null or exists (select 1 from lull_timer t where t.conversation = r.id) = :active)
  and (:parked is null or r.parked = :parked)
  and (:handed_off is null or r.handed_off = :handed_off)
order by r.id limit :limit;
