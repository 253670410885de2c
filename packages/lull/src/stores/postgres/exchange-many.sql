-- Many writes of different conversations; see lull_exchange_many in migrations/004-together.sql.
-- Params: $1 clock_ms, $2 max_skew_ms, $3 now_ms, $4 ids, $5 expected, $6 revisions, $7 first_seqs, $8 seqs, $9 statuses,
-- $10 wake_at_ms, $11 log_from, $12 log_ends, $13 seen_ends, $14 records, $15 log_at_ms, $16 log, $17 seen_expire_at_ms,
-- $18 seen_keys, $19 seen_values.
-- Rows: write, now, seq, entry.
select * from lull.lull_exchange_many(
  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19
);
