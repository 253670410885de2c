-- The writes. Each is one function, hence one round trip and one transaction, and each takes the conversation's
-- row before anything else of it: there is one lock order, so there are no deadlocks. They are functions and not
-- single statements because every statement inside one sees what was committed before it, not what was committed
-- before the call: a row that had to be waited for is never judged by an old snapshot.
--
-- A function is never changed by a later migration, only joined by one of another name: releases that know it go
-- on calling it.

-- The store's clock. p_clock_ms: null, or the time to use instead (tests). Refuses on a standby, whose answers
-- are old: what it lacks may have been acknowledged long ago.
create function lull.lull_now(p_clock_ms bigint) returns bigint
language plpgsql volatile as $$
begin
  if pg_is_in_recovery() then
    raise exception using errcode = 'read_only_sql_transaction', message = 'this server is a standby';
  end if;
  return coalesce(p_clock_ms, floor(extract(epoch from clock_timestamp()) * 1000)::bigint);
end
$$;

-- The compare-and-exchange.
-- Params: p_clock_ms (see lull_now), p_now_ms (when the caller decided), p_max_skew_ms; p_id, p_expected (null: must
-- not exist), p_revision, p_first_seq (of the log entries; without any: p_seq + 1), p_seq, p_status, p_record;
-- p_wake_at_ms (null: no timer); p_log, p_log_at_ms, p_seen_keys, p_seen_values, p_seen_expire_at_ms (arrays as
-- text: not every driver can encode arrays); p_log_from (null: no log wanted).
-- Rows: (kind, now, number, text, text2); first the answer: skewed | duplicate | conflict (text: the record) | gap
-- (number: the stored seq) | stored; then, for a duplicate, each repeated key as seen (key, value), and for a stored
-- write the log as entry (seq, entry).
-- Guarantee: everything or nothing is written, and only if no key was remembered and the stored revision is
-- p_expected. Reading first and locking by the update is as safe as locking first, because revisions never come
-- back: a row that still has p_expected when the update takes it has not changed since it was read, and neither has
-- anything else of the conversation. Whoever loses a race holds no lock and syncs no disk for it.
create function lull.lull_exchange(
  p_clock_ms bigint, p_now_ms bigint, p_max_skew_ms bigint,
  p_id text, p_expected text, p_revision text, p_first_seq bigint, p_seq bigint, p_status smallint, p_record text,
  p_wake_at_ms bigint,
  p_log text, p_log_at_ms text,
  p_seen_keys text, p_seen_values text, p_seen_expire_at_ms text,
  p_log_from bigint
) returns table (o_kind text, o_now bigint, o_number bigint, o_text text, o_text2 text)
language plpgsql volatile as $$
declare
  v_clock_ms bigint := lull.lull_now(p_clock_ms);
  v_keys text[] := p_seen_keys::text[];
  v_at_ms bigint[] := p_log_at_ms::bigint[];
  v_revision text;
  v_seq bigint;
begin
  if abs(p_now_ms - v_clock_ms) > p_max_skew_ms then
    return query select 'skewed', v_clock_ms, null::bigint, null::text, null::text;
    return;
  end if;

  loop
    select r.revision, r.seq into v_revision, v_seq from lull.lull_record r where r.id = p_id;

    if cardinality(v_keys) > 0 and exists (
      select from lull.lull_seen s
      where s.conversation = p_id and s.key = any (v_keys) and s.expires_at_ms > v_clock_ms
    ) then
      return query select 'duplicate', v_clock_ms, null::bigint,
        (select r.record from lull.lull_record r where r.id = p_id), null::text;
      return query select 'seen', v_clock_ms, k.position, s.key, s.value
        from unnest(v_keys) with ordinality k (key, position)
        join lull.lull_seen s on s.conversation = p_id and s.key = k.key and s.expires_at_ms > v_clock_ms
        order by k.position;
      return;
    end if;

    if v_revision is distinct from p_expected then
      return query select 'conflict', v_clock_ms, null::bigint,
        (select r.record from lull.lull_record r where r.id = p_id), null::text;
      return;
    end if;

    if p_first_seq <> coalesce(v_seq, 0) + 1 then
      return query select 'gap', v_clock_ms, coalesce(v_seq, 0), null::text, null::text;
      return;
    end if;

    if p_expected is null then
      insert into lull.lull_record (id, revision, seq, status, log_begins_at_ms, record)
      values (p_id, p_revision, p_seq, p_status, v_at_ms[1], p_record)
      on conflict (id) do nothing;
    else
      update lull.lull_record r
      set revision = p_revision, seq = p_seq, status = p_status, record = p_record,
        log_begins_at_ms = coalesce(r.log_begins_at_ms, v_at_ms[1])
      where r.id = p_id and r.revision = p_expected;
    end if;
    -- Not found: somebody else was first. What they wrote is visible now.
    exit when found;
  end loop;

  if cardinality(v_at_ms) > 0 then
    insert into lull.lull_log (conversation, seq, at_ms, entry)
    select p_id, p_first_seq + e.position - 1, e.at_ms, e.entry
    from unnest(v_at_ms, p_log::text[]) with ordinality e (at_ms, entry, position);
  end if;

  if cardinality(v_keys) > 0 then
    insert into lull.lull_seen as s (conversation, key, expires_at_ms, value)
    select p_id, k.key, k.expires_at_ms, k.value
    from unnest(v_keys, p_seen_expire_at_ms::bigint[], p_seen_values::text[]) k (key, expires_at_ms, value)
    on conflict (conversation, key) do update set expires_at_ms = excluded.expires_at_ms, value = excluded.value;
  end if;

  if p_wake_at_ms is null then
    delete from lull.lull_timer t where t.conversation = p_id;
  else
    insert into lull.lull_timer as t (conversation, wake_at_ms, revision) values (p_id, p_wake_at_ms, p_revision)
    on conflict (conversation) do update set wake_at_ms = excluded.wake_at_ms, revision = excluded.revision;
  end if;

  return query select 'stored', lull.lull_now(p_clock_ms), null::bigint, null::text, null::text;
  if p_log_from is not null then
    return query select 'entry', v_clock_ms, l.seq, l.entry, null::text
      from lull.lull_log l where l.conversation = p_id and l.seq >= p_log_from order by l.seq;
  end if;
end
$$;

-- Makes a timer what its record demands. Params: p_id, p_revision (of the record that was looked at), p_wake_at_ms
-- (null: none). Returns whether it did: not if the record has changed since.
create function lull.lull_set_timer(p_id text, p_revision text, p_wake_at_ms bigint) returns boolean
language plpgsql volatile as $$
begin
  perform 1 from lull.lull_record r where r.id = p_id and r.revision = p_revision for update;
  if not found then
    return false;
  end if;
  if p_wake_at_ms is null then
    delete from lull.lull_timer t where t.conversation = p_id;
  else
    insert into lull.lull_timer as t (conversation, wake_at_ms, revision) values (p_id, p_wake_at_ms, p_revision)
    on conflict (conversation) do update set wake_at_ms = excluded.wake_at_ms, revision = excluded.revision;
  end if;
  return true;
end
$$;

-- Removes everything of a conversation. Returns whether there was something. Left-overs without a record are removed
-- under a record made for the purpose: without a row to lock, a conversation that begins meanwhile would lose its log.
create function lull.lull_erase(p_id text) returns boolean
language plpgsql volatile as $$
declare
  v_any boolean;
begin
  loop
    delete from lull.lull_record r where r.id = p_id;
    v_any := found;
    exit when found;
    insert into lull.lull_record (id, revision, seq, status, log_begins_at_ms, record)
    values (p_id, '', 0, 0, null, '') on conflict (id) do nothing;
    exit when found;
  end loop;
  delete from lull.lull_log l where l.conversation = p_id;
  v_any := v_any or found;
  delete from lull.lull_timer t where t.conversation = p_id;
  v_any := v_any or found;
  delete from lull.lull_seen s where s.conversation = p_id;
  v_any := v_any or found;
  delete from lull.lull_record r where r.id = p_id;
  return v_any;
end
$$;

-- Removes the beginnings of logs. Params: p_ids, p_revisions, p_keep_from (arrays as text: the conversations, the
-- revision each was judged at, the first seq each needs), p_before_ms, p_limit. Returns the number of removed entries.
-- Conversations that changed meanwhile, or that somebody is writing, are left for the next time; so it never waits
-- while it holds the rows of others.
create function lull.lull_prune_logs(
  p_ids text, p_revisions text, p_keep_from text, p_before_ms bigint, p_limit bigint
) returns bigint
language plpgsql volatile as $$
declare
  v_total bigint := 0;
  v_rows bigint;
  v_first bigint;
  v_to bigint;
  v_one record;
begin
  for v_one in
    select u.id, u.revision, u.keep_from
    from unnest(p_ids::text[], p_revisions::text[], p_keep_from::bigint[]) u (id, revision, keep_from)
  loop
    exit when v_total >= p_limit;
    perform 1 from lull.lull_record r
    where r.id = v_one.id and r.revision = v_one.revision for update skip locked;
    continue when not found;
    select l.seq into v_first from lull.lull_log l where l.conversation = v_one.id order by l.seq limit 1;
    continue when not found;
    select least(v_one.keep_from, v_first + p_limit - v_total, coalesce(
      (select l.seq from lull.lull_log l
        where l.conversation = v_one.id and l.at_ms >= p_before_ms order by l.seq limit 1),
      (select r.seq + 1 from lull.lull_record r where r.id = v_one.id)
    )) into v_to;
    delete from lull.lull_log l where l.conversation = v_one.id and l.seq < v_to;
    get diagnostics v_rows = row_count;
    continue when v_rows = 0;
    v_total := v_total + v_rows;
    update lull.lull_record r
    set log_begins_at_ms = (select l.at_ms from lull.lull_log l where l.conversation = v_one.id order by l.seq limit 1)
    where r.id = v_one.id;
  end loop;
  return v_total;
end
$$;
