-- :id, :from, :before, :limit. The last entries with :from <= seq < :before, newest first.
select seq, entry from lull_log
where conversation = :id and seq >= :from and seq < :before
order by seq desc limit :limit;
