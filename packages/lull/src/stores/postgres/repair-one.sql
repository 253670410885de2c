-- Params: $1 id, $2 revision, $3 wake_at_ms (null: none). Rows: whether it was done; see lull_set_timer.
select lull.lull_set_timer($1, $2, $3)::int;
