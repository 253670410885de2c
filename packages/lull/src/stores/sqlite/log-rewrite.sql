-- :id, :seq, :at_ms, :entry. Changes no row unless the entry is there.
update lull_log set at_ms = :at_ms, entry = :entry where conversation = :id and seq = :seq;
