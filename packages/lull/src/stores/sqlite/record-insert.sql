-- :id, :revision, :seq, :parked, :handed_off (0 or 1), :record. Fails when the conversation exists.
insert into lull_record (id, revision, seq, parked, handed_off, record)
values (:id, :revision, :seq, :parked, :handed_off, :record);
