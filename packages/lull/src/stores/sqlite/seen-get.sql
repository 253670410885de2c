-- :id, :key, :now_ms. The value of a key that is still remembered.
select value from lull_seen where conversation = :id and key = :key and expires_at_ms > :now_ms;
