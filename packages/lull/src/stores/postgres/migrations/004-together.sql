-- What waits together goes together: one round trip, one transaction and one sync of the disk for the writes, or
-- the questions, of many conversations.

-- Many writes of different conversations. Each is written as lull_exchange would write it, or not at all; what is not,
-- for whatever reason, is for lull_exchange to judge, alone.
-- Params: p_clock_ms (see lull_now), p_max_skew_ms; then arrays as text, with an element for each write: p_now_ms, p_ids,
-- p_expected (null: must not exist), p_revisions, p_first_seqs, p_seqs, p_statuses, p_wake_at_ms (null: no timer),
-- p_log_from (null: no log wanted), p_log_ends and p_seen_ends (how many entries and keys belong to this write and
-- those before it); p_records: a line for each write. With an element or a line for each entry: p_log_at_ms, p_log; for
-- each key: p_seen_expire_at_ms, p_seen_keys, p_seen_values. Lines, and not arrays, because JSON has no line breaks of
-- its own, and nothing has to be quoted.
-- The writes must come in one order of their ids that is the same for all callers.
-- Rows: (write, now, seq, entry): first the time, with write 0; then each write that was left out (seq null); then
-- the logs that were asked for.
-- Guarantee: it never waits for a row that somebody else holds, so that one conversation does not hold up the others:
-- such a write is left out. Only a conversation that two make at the same moment has to be waited for, until the other
-- transaction is over; all take theirs in the order of ids, and whoever waits so holds none that the other may wait for.
create function lull.lull_exchange_many(
  p_clock_ms bigint, p_max_skew_ms bigint,
  p_now_ms text, p_ids text, p_expected text, p_revisions text, p_first_seqs text, p_seqs text, p_statuses text,
  p_wake_at_ms text, p_log_from text, p_log_ends text, p_seen_ends text, p_records text,
  p_log_at_ms text, p_log text,
  p_seen_expire_at_ms text, p_seen_keys text, p_seen_values text
) returns table (o_write int, o_now bigint, o_seq bigint, o_entry text)
language plpgsql volatile as $$
declare
  v_clock_ms bigint := lull.lull_now(p_clock_ms);
  v_ids text[] := p_ids::text[];
  v_revisions text[] := p_revisions::text[];
  v_wake_at_ms bigint[] := p_wake_at_ms::bigint[];
  v_log_from bigint[] := p_log_from::bigint[];
  v_at_ms bigint[] := p_log_at_ms::bigint[];
  v_keys text[] := string_to_array(p_seen_keys, E'\n');
  v_owners int[] := '{}';
  v_owner_seqs bigint[] := '{}';
  v_key_owners int[] := '{}';
  v_done boolean[] := '{}';
  v_all boolean := true;
  v_log_end int := 0;
  v_seen_end int := 0;
  v_one record;
begin
  for v_one in
    select u.* from unnest(
      v_ids, p_expected::text[], v_revisions, p_now_ms::bigint[], p_first_seqs::bigint[], p_seqs::bigint[],
      p_statuses::smallint[], p_log_ends::int[], p_seen_ends::int[], string_to_array(p_records, E'\n')
    ) with ordinality
      u (id, expected, revision, now_ms, first_seq, seq, status, log_end, seen_end, record, write)
  loop
    if abs(v_one.now_ms - v_clock_ms) > p_max_skew_ms then
      v_done[v_one.write] := false;
    else
      if v_one.expected is null then
        insert into lull.lull_record (id, revision, seq, status, log_begins_at_ms, record)
        select v_one.id, v_one.revision, v_one.seq, v_one.status,
          case when v_one.log_end > v_log_end then v_at_ms[v_log_end + 1] end, v_one.record
        where v_one.first_seq = 1 and (v_one.seen_end = v_seen_end or not exists (
          select from lull.lull_seen s
          where s.conversation = v_one.id and s.key = any (v_keys[v_seen_end + 1 : v_one.seen_end])
            and s.expires_at_ms > v_clock_ms
        ))
        on conflict (id) do nothing;
      else
        -- As in lull_exchange: a row that still has the expected revision when it is taken has not changed since this
        -- statement's look at it and at the keys.
        update lull.lull_record r
        set revision = v_one.revision, seq = v_one.seq, status = v_one.status, record = v_one.record,
          log_begins_at_ms = coalesce(
            r.log_begins_at_ms, case when v_one.log_end > v_log_end then v_at_ms[v_log_end + 1] end)
        from (
          select l.id from lull.lull_record l
          where l.id = v_one.id and l.revision = v_one.expected and l.seq = v_one.first_seq - 1
          for update skip locked
        ) held
        where r.id = held.id and (v_one.seen_end = v_seen_end or not exists (
          select from lull.lull_seen s
          where s.conversation = v_one.id and s.key = any (v_keys[v_seen_end + 1 : v_one.seen_end])
            and s.expires_at_ms > v_clock_ms
        ));
      end if;
      v_done[v_one.write] := found;
    end if;
    v_all := v_all and v_done[v_one.write];
    for v_position in 1 .. v_one.log_end - v_log_end loop
      v_owners := v_owners || v_one.write::int;
      v_owner_seqs := v_owner_seqs || (v_one.first_seq + v_position - 1);
    end loop;
    for v_position in 1 .. v_one.seen_end - v_seen_end loop
      v_key_owners := v_key_owners || v_one.write::int;
    end loop;
    v_log_end := v_one.log_end;
    v_seen_end := v_one.seen_end;
  end loop;

  if v_log_end > 0 then
    insert into lull.lull_log (conversation, seq, at_ms, entry)
    select v_ids[e.owner], e.seq, e.at_ms, e.entry
    from unnest(v_owners, v_owner_seqs, v_at_ms, string_to_array(p_log, E'\n')) e (owner, seq, at_ms, entry)
    where v_done[e.owner];
  end if;

  if v_seen_end > 0 then
    insert into lull.lull_seen as s (conversation, key, expires_at_ms, value)
    select v_ids[k.owner], k.key, k.expires_at_ms, k.value
    from unnest(v_key_owners, v_keys, p_seen_expire_at_ms::bigint[], string_to_array(p_seen_values, E'\n'))
      k (owner, key, expires_at_ms, value)
    where v_done[k.owner]
    on conflict (conversation, key) do update set expires_at_ms = excluded.expires_at_ms, value = excluded.value;
  end if;

  insert into lull.lull_timer as t (conversation, wake_at_ms, revision)
  select w.id, w.wake_at_ms, w.revision
  from unnest(v_ids, v_wake_at_ms, v_revisions) with ordinality w (id, wake_at_ms, revision, write)
  where w.wake_at_ms is not null and v_done[w.write]
  on conflict (conversation) do update set wake_at_ms = excluded.wake_at_ms, revision = excluded.revision;

  if array_position(v_wake_at_ms, null) is not null then
    delete from lull.lull_timer t where t.conversation = any (array(
      select w.id from unnest(v_ids, v_wake_at_ms) with ordinality w (id, wake_at_ms, write)
      where w.wake_at_ms is null and v_done[w.write]
    ));
  end if;

  return query select 0, lull.lull_now(p_clock_ms), null::bigint, null::text;
  for v_write in 1 .. cardinality(v_ids) loop
    if not v_done[v_write] then
      return query select v_write, v_clock_ms, null::bigint, null::text;
    elsif v_log_from[v_write] is not null then
      return query select v_write, v_clock_ms, l.seq, l.entry
        from lull.lull_log l where l.conversation = v_ids[v_write] and l.seq >= v_log_from[v_write] order by l.seq;
    end if;
  end loop;
end
$$;

-- Many conversations, read at one moment. Params: p_clock_ms (see lull_now); arrays as text: p_ids, p_from (null: no
-- log). Rows: (question, now, seq, text): first the time, with question 0; then each record that there is with seq 0,
-- and the log from p_from on.
create function lull.lull_load_many(p_clock_ms bigint, p_ids text, p_from text)
returns table (o_question int, o_now bigint, o_seq bigint, o_text text)
language plpgsql volatile as $$
declare
  v_clock_ms bigint := lull.lull_now(p_clock_ms);
begin
  return query select 0, v_clock_ms, null::bigint, null::text;
  return query select q.question::int, v_clock_ms, x.seq, x.text
    from unnest(p_ids::text[], p_from::bigint[]) with ordinality q (id, first, question)
    cross join lateral (
      select 0::bigint as seq, r.record as text from lull.lull_record r where r.id = q.id
      union all
      select l.seq, l.entry from lull.lull_log l where l.conversation = q.id and l.seq >= q.first
    ) x
    order by q.question, x.seq;
end
$$;
