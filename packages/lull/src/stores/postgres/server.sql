-- Params: $1 schema. Rows: server_version_num, server_encoding, fsync, full_page_writes, synchronous_commit,
-- synchronous_standby_names, whether the schema exists, whether its table lull_schema does (0 or 1).
select current_setting('server_version_num'), current_setting('server_encoding'),
  current_setting('fsync'), current_setting('full_page_writes'),
  current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
  exists (select from pg_catalog.pg_namespace where nspname = $1)::int,
  exists (
    select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1 and c.relname = 'lull_schema'
  )::int;
