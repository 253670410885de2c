-- :id, :key, :expires_at_ms, :value. Replaces an expired key.
insert into lull_seen (conversation, key, expires_at_ms, value) values (:id, :key, :expires_at_ms, :value)
on conflict (conversation, key) do update set expires_at_ms = excluded.expires_at_ms, value = excluded.value;
