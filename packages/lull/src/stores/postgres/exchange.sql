-- The compare-and-exchange; see lull_exchange in migrations/002-functions.sql.
-- Params: $1 clock_ms, $2 now_ms, $3 max_skew_ms, $4 id, $5 expected, $6 revision, $7 first_seq, $8 seq, $9 status,
-- $10 record, $11 wake_at_ms, $12 log, $13 log_at_ms, $14 seen_keys, $15 seen_values, $16 seen_expire_at_ms, $17 log_from.
-- Rows: kind, now, number, text, text2.
select * from lull.lull_exchange($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17);
