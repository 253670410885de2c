-- Params: $1 clock_ms. Rows: now.
select lull.lull_now($1);
