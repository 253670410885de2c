-- Params and rows as of list.sql; for $6 = 1 or $7 = 1: walks only the conversations that are parked or handed off.
select c.now, x.id, x.record
from lull.lull_now($1) c (now)
left join (
  select r.id, r.record from lull.lull_record r
  where r.status <> 0 and r.id > $2 and r.id >= $3 and ($4::text is null or r.id < $4)
    and ($5::int is null or exists (select from lull.lull_timer t where t.conversation = r.id) = ($5 = 1))
    and ($6::int is null or r.status & 1 = $6)
    and ($7::int is null or r.status >> 1 & 1 = $7)
  order by r.id limit $8
) x on true
order by x.id;
