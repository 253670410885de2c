-- One row when lull has been in this database before.
select 1 as yes from sqlite_master where type = 'table' and name = 'lull_schema';
