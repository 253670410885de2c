-- Which migrations were applied. readable_by: releases that know migrations only up to this one can work with the
-- database all the same.
create table lull.lull_schema (
  version integer primary key,
  readable_by integer not null,
  applied_at_ms bigint not null
);
