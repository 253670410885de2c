-- :id, :from, :limit. Entries from seq :from on, oldest first.
select seq, entry from lull_log where conversation = :id and seq >= :from order by seq limit :limit;
