-- :id, :expected, :revision, :seq, :parked, :handed_off (0 or 1), :record.
-- Changes no row unless the stored revision is :expected.
update lull_record
set revision = :revision, seq = :seq, parked = :parked, handed_off = :handed_off, record = :record
where id = :id and revision = :expected;
