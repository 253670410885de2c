-- :until_ms, :limit. Forgets keys that expired up to then, the longest expired first.
delete from lull_seen where (conversation, key) in (
  select conversation, key from lull_seen where expires_at_ms <= :until_ms order by expires_at_ms limit :limit
);
