-- Params: $1 ids, $2 revisions, $3 keep_from (arrays as text), $4 before_ms, $5 limit.
-- Rows: the number of removed entries; see lull_prune_logs.
select lull.lull_prune_logs($1, $2, $3, $4, $5);
