-- :after, :prefix (may be empty), :active, :parked, :handed_off (0, 1 or null: either), :limit.
-- Conversations by id, bytewise; no byte of UTF-8 is as high as ff. SQLite begins at one lower bound only: the higher one,
-- or a prefix would walk everything before it. The plus keeps it from taking the other.
select r.id, r.record from lull_record r
where r.id >= max(:after, :prefix) and r.id < :prefix || x'ff' and +r.id > :after
  and (:active is null or exists (select 1 from lull_timer t where t.conversation = r.id) = :active)
  and (:parked is null or r.parked = :parked)
  and (:handed_off is null or r.handed_off = :handed_off)
order by r.id limit :limit;
