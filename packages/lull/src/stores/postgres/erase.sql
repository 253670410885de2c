-- Params: $1 id. Rows: whether there was something; see lull_erase.
select lull.lull_erase($1)::int;
