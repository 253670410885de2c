-- :id, :seq, :at_ms, :entry. Fails when the entry exists: nothing in the log is ever replaced.
insert into lull_log (conversation, seq, at_ms, entry) values (:id, :seq, :at_ms, :entry);
