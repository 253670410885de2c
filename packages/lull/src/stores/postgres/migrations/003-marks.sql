-- What holds for the whole store, by name: `pause` (JSON), which every process looks for where it looks for work.
create table lull.lull_mark (
  name text primary key,
  value text not null
);

-- Replaces the content of log entries that exist, under the record's revision. Params: p_id, p_revision, p_seqs,
-- p_at_ms, p_entries (arrays as text). Returns 1: done; 0: the record has another revision; -1: an entry is not
-- there. Then nothing is written.
create function lull.lull_rewrite_log(p_id text, p_revision text, p_seqs text, p_at_ms text, p_entries text)
returns int
language plpgsql volatile as $$
declare
  v_seqs bigint[] := p_seqs::bigint[];
begin
  perform 1 from lull.lull_record r where r.id = p_id and r.revision = p_revision for update;
  if not found then
    return 0;
  end if;
  if (select count(*) from lull.lull_log l where l.conversation = p_id and l.seq = any (v_seqs)) < cardinality(v_seqs) then
    return -1;
  end if;
  update lull.lull_log l set at_ms = e.at_ms, entry = e.entry
  from unnest(v_seqs, p_at_ms::bigint[], p_entries::text[]) e (seq, at_ms, entry)
  where l.conversation = p_id and l.seq = e.seq;
  return 1;
end
$$;
