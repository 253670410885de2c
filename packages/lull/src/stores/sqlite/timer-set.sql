-- :id, :wake_at_ms, :revision. A conversation has one timer; this replaces it.
insert into lull_timer (conversation, wake_at_ms, revision) values (:id, :wake_at_ms, :revision)
on conflict (conversation) do update set wake_at_ms = excluded.wake_at_ms, revision = excluded.revision;
