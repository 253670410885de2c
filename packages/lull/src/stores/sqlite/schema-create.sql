-- A table and not PRAGMA user_version, which belongs to whoever else keeps tables in this database.
create table lull_schema (version integer primary key not null, applied_at_ms integer not null) strict;
