-- Params: $1 until_ms, $2 limit. Rows: the number of forgotten keys; those that expired first.
-- Small batches of rows that nobody else is using: no table is locked, and nobody waits.
with expired as (
  select ctid from lull.lull_seen where expires_at_ms <= $1 order by expires_at_ms limit $2 for update skip locked
), forgotten as (
  delete from lull.lull_seen where ctid = any (array(select ctid from expired)) returning 1
)
select count(*) from forgotten;
