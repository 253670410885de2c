-- The four storage areas. Collation "C" compares ids as bytes, which in UTF-8 is also the order of code points.
-- Everything that may hold what a user wrote is JSON *text*: jsonb refuses "\u0000", which JSON allows.

-- One row per conversation, replaced with every write. No indexed column changes in an ordinary write, and every
-- page keeps room for the next version of its rows, so that these updates touch no index (HOT).
create table lull.lull_record (
  id text collate "C" primary key,
  revision text not null,
  seq bigint not null,
  -- 0: nothing special. 1: parked. 2: handed off. 3: both.
  status smallint not null,
  -- Time of the oldest log entry that is still there; changes only when the log begins or is pruned.
  log_begins_at_ms bigint,
  record text not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- Lists of what needs a person, without the millions that rest.
create index lull_record_status on lull.lull_record (id) include (status) where status <> 0;
create index lull_record_log_begins on lull.lull_record (log_begins_at_ms, id) where log_begins_at_ms is not null;

create table lull.lull_log (
  conversation text collate "C" not null,
  seq bigint not null,
  at_ms bigint not null,
  entry text not null,
  primary key (conversation, seq)
);

-- Only conversations that are not at rest, so this is also the list of those.
create table lull.lull_timer (
  conversation text collate "C" primary key,
  wake_at_ms bigint not null,
  revision text not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);

create index lull_timer_wake on lull.lull_timer (wake_at_ms, conversation);

-- `key` and `value` are JSON text: a key may hold characters that a text of Postgres may not.
create table lull.lull_seen (
  conversation text collate "C" not null,
  key text collate "C" not null,
  expires_at_ms bigint not null,
  value text not null,
  primary key (conversation, key)
) with (autovacuum_vacuum_scale_factor = 0.02);

create index lull_seen_expires on lull.lull_seen (expires_at_ms);
