-- Params and rows as of list.sql; for $5 = 1: walks only the timers.
select c.now, x.id, x.record
from lull.lull_now($1) c (now)
left join (
  select r.id, r.record from lull.lull_timer t join lull.lull_record r on r.id = t.conversation
  where t.conversation > $2 and t.conversation >= $3 and ($4::text is null or t.conversation < $4)
    and $5::int = 1
    and ($6::int is null or r.status & 1 = $6)
    and ($7::int is null or r.status >> 1 & 1 = $7)
  order by t.conversation limit $8
) x on true
order by x.id;
