-- Many conversations at one moment; see lull_load_many in migrations/004-together.sql.
-- Params: $1 clock_ms, $2 ids, $3 from. Rows: question, now, seq, text.
select * from lull.lull_load_many($1, $2, $3);
