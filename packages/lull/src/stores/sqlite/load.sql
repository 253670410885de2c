-- :id, :from (null: no log). The record as the row with seq 0, then the log from seq :from on.
-- One statement, so that no other process can write between the two.
select 0 as seq, record as text from lull_record where id = :id
union all
select seq, entry as text from lull_log where conversation = :id and seq >= :from
order by seq;
