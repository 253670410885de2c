-- Params: $1 clock_ms, $2 after (may be empty), $3 from (an id or empty), $4 before (null: no end), $5 active, $6 parked,
-- $7 handed_off (each 0, 1 or null: either), $8 limit.
-- Rows: now, id, record; conversations by id, bytewise, with $2 < id and $3 <= id < $4; id null if there is nothing.
select c.now, x.id, x.record
from lull.lull_now($1) c (now)
left join (
  select r.id, r.record from lull.lull_record r
  where r.id > $2 and r.id >= $3 and ($4::text is null or r.id < $4)
    and ($5::int is null or exists (select from lull.lull_timer t where t.conversation = r.id) = ($5 = 1))
    and ($6::int is null or r.status & 1 = $6)
    and ($7::int is null or r.status >> 1 & 1 = $7)
  order by r.id limit $8
) x on true
order by x.id;
