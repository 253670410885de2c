-- :after, :limit. Conversations by id with the timer each has (null: none).
select r.id, r.revision, r.record, t.wake_at_ms
from lull_record r left join lull_timer t on t.conversation = r.id
where r.id > :after
order by r.id limit :limit;
