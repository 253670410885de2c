-- :id, :before_ms. The first entry there is, and the first that is not older than :before_ms (null: none).
select
  (select seq from lull_log where conversation = :id order by seq limit 1) as first,
  (select seq from lull_log where conversation = :id and at_ms >= :before_ms order by seq limit 1) as young;
