-- :id, :to. Removes the beginning of a log, up to but without seq :to.
delete from lull_log where conversation = :id and seq < :to;
