-- Params: $1 clock_ms, $2 name. Rows: now.
with gone as (delete from lull.lull_mark where name = $2)
select lull.lull_now($1);
