-- The four storage areas. Big texts stand last in their rows, so that reading the columns before them
-- touches no overflow pages.

-- One row per conversation. The columns beside `record` repeat what a query filters by. It has a rowid
-- because its rows are large; that also leaves a narrow index of ids to count and page through.
create table lull_record (
  id text primary key not null,
  revision text not null,
  seq integer not null,
  parked integer not null,
  handed_off integer not null,
  -- Time of the oldest log entry that is still there; changed only when the log begins or is pruned.
  log_begins_at_ms integer,
  record text not null
) strict;

create index lull_record_parked on lull_record (id) where parked = 1;
create index lull_record_handed_off on lull_record (id) where handed_off = 1;
create index lull_record_log_begins on lull_record (log_begins_at_ms, id) where log_begins_at_ms is not null;

create table lull_log (
  conversation text not null,
  seq integer not null,
  at_ms integer not null,
  entry text not null,
  primary key (conversation, seq)
) strict, without rowid;

-- Only conversations that are not at rest.
create table lull_timer (
  conversation text primary key not null,
  wake_at_ms integer not null,
  revision text not null
) strict, without rowid;

create index lull_timer_wake on lull_timer (wake_at_ms, conversation);

-- `key` is JSON text, because a key may hold characters that SQLite's text may not.
create table lull_seen (
  conversation text not null,
  key text not null,
  expires_at_ms integer not null,
  value text not null,
  primary key (conversation, key)
) strict, without rowid;

create index lull_seen_expires on lull_seen (expires_at_ms);
