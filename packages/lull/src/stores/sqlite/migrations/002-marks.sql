-- What holds for the whole store, by name: `pause` (JSON), which every process looks for where it looks for work.
create table lull_mark (
  name text primary key not null,
  value text not null
) strict, without rowid;
