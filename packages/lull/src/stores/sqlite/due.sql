-- :until_ms, :after_ms, :after_id, :limit. Timers up to :until_ms, soonest first, behind the given one.
-- Brings the records along, so that what this release cannot read is left to those who can.
select t.conversation as id, t.wake_at_ms, t.revision, r.record
from lull_timer t left join lull_record r on r.id = t.conversation
where t.wake_at_ms <= :until_ms and (t.wake_at_ms, t.conversation) > (:after_ms, :after_id)
order by t.wake_at_ms, t.conversation limit :limit;
