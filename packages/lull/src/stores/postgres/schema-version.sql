-- Rows: the newest migration that was applied (0: none), and the oldest one a release has to know to go on working.
select coalesce(max(version), 0), coalesce(max(readable_by), 0) from lull.lull_schema;
