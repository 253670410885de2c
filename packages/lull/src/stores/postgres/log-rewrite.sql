-- Params: $1 id, $2 revision, $3 seqs, $4 at_ms, $5 entries (arrays as text). Rows: 1, 0 or -1; see
-- lull_rewrite_log.
select lull.lull_rewrite_log($1, $2, $3, $4, $5);
