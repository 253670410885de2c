-- Params: $1 clock_ms, $2 id, $3 from, $4 before, $5 limit.
-- Rows: now, seq, entry; the last entries with $3 <= seq < $4, oldest first; seq null if there is nothing.
select c.now, l.seq, l.entry
from lull.lull_now($1) c (now)
left join (
  select seq, entry from lull.lull_log where conversation = $2 and seq >= $3 and seq < $4 order by seq desc limit $5
) l on true
order by l.seq;
