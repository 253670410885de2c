-- Params: $1 channel, $2 payload. In a transaction of its own, never in that of a write: a commit with a notification
-- takes a lock that all of them share.
select pg_notify($1, $2)::text;
