-- Params: $1 clock_ms, $2 name, $3 value. Rows: now.
with put as (
  insert into lull.lull_mark (name, value) values ($2, $3)
  on conflict (name) do update set value = excluded.value
)
select lull.lull_now($1);
