-- The newest migration that was applied; 0 when none was.
select coalesce(max(version), 0) as version from lull_schema;
