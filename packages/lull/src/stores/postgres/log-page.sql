-- Params: $1 clock_ms, $2 id, $3 from, $4 limit.
-- Rows: now, seq, entry; from seq $3 on, oldest first; seq null if there is nothing.
select c.now, l.seq, l.entry
from lull.lull_now($1) c (now)
left join (
  select seq, entry from lull.lull_log where conversation = $2 and seq >= $3 order by seq limit $4
) l on true
order by l.seq;
