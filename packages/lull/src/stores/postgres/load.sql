-- Params: $1 clock_ms, $2 id, $3 from (null: no log).
-- Rows: now, seq, text; the record as the row with seq 0, then the log from seq $3 on; seq null if there is nothing.
-- One statement, so that nobody can write between the two.
select c.now, x.seq, x.text
from lull.lull_now($1) c (now)
left join (
  select 0 as seq, record as text from lull.lull_record where id = $2
  union all
  select seq, entry as text from lull.lull_log where conversation = $2 and seq >= $3::bigint
) x on true
order by x.seq;
