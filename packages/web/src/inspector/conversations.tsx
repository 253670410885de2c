/**
 * All conversations: by prefix, author and state; and what happens right now.
 *
 * @module
 */
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Event, Listed } from "../shared/shapes.ts";
import { VirtualList } from "../shared/virtual.tsx";
import { Listing } from "./listing.ts";
import { ErrorNotice, StateChip, StreamNotice, states } from "./parts.tsx";
import { go, hashOf } from "./route.ts";
import { clockTime, counted, dateTime, lasting } from "./words.ts";

const rowHeight = 56;
/** Ticks once a second, for times that run down. */
const now = signal(Date.now());

export function ConversationsPage({ prefix, author, state }: { prefix: string; author: string; state: string }) {
  const listing = useMemo(() => new Listing({ prefix, author, state }), [prefix, author, state]);
  useEffect(() => () => listing.close(), [listing]);
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = Date.now();
    }, 1_000);
    return () => clearInterval(timer);
  }, []);
  const rows = listing.rows.value;

  return (
    <>
      <div class="page-head">
        <h1>Conversations</h1>
        <StreamNotice state={listing.stream.value} />
      </div>
      <Filters prefix={prefix} author={author} state={state} />
      {listing.error.value && <ErrorNotice error={listing.error.value} onRetry={() => void listing.load(true)} />}
      <div class="list-and-feed">
        <section class="card list-card" aria-label="Conversations">
          <div class="list-head">
            <span role="status">
              {counted(rows.length, "conversation")}
              {listing.more.value ? " so far" : ""}
              {listing.scanned.value > rows.length
                ? `, ${counted(listing.scanned.value, "conversation")} looked at`
                : ""}
              {listing.loading.value ? ", loading…" : ""}
            </span>
            {listing.isTired && (
              <button type="button" class="button" onClick={() => void listing.load(true)}>
                Look on
              </button>
            )}
          </div>
          {rows.length === 0 && !listing.loading.value && !listing.more.value ? (
            <Empty filtered={prefix !== "" || author !== "" || state !== ""} />
          ) : (
            <VirtualList
              count={rows.length}
              rowHeight={rowHeight}
              label="Conversations, by id"
              class="list"
              onSight={listing.sight}
              row={(index) => <Row row={rows[index] as Listed} />}
            />
          )}
        </section>
        <Feed events={listing.events.value} />
      </div>
    </>
  );
}

function Empty({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <p class="empty">
      No conversation fits. Filters match the beginning of an id, an author's whole id, and the state now.
    </p>
  ) : (
    <p class="empty">
      Nobody has written yet. Try the <a href="../">playground</a>, or hand in a message:{" "}
      <code>
        {'curl -d \'{"conversation":"web:1","text":"hi"}\' -H "content-type: application/json" …/v1/messages'}
      </code>
    </p>
  );
}

function Filters({ prefix, author, state }: { prefix: string; author: string; state: string }) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const form = useRef<HTMLFormElement>(null);
  const apply = () => {
    clearTimeout(timer.current);
    if (form.current === null) return;
    const fields = new FormData(form.current);
    const text = (name: string) => String(fields.get(name) ?? "").trim();
    go(
      { page: "conversations", prefix: text("prefix"), author: text("author"), state: text("state") },
      { replace: true },
    );
  };
  const soon = () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(apply, 350);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <search>
      <form
        ref={form}
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          apply();
        }}
      >
        <label class="field">
          Id begins with
          <input
            name="prefix"
            defaultValue={prefix}
            onInput={soon}
            spellcheck={false}
            autocomplete="off"
            placeholder="web:"
          />
        </label>
        <label class="field">
          Author
          <input name="author" defaultValue={author} onInput={soon} spellcheck={false} autocomplete="off" />
        </label>
        <label class="field">
          State
          <select name="state" defaultValue={state} onChange={apply}>
            <option value="">any</option>
            {states.map((name) => (
              <option key={name} value={name} selected={name === state}>
                {name.replace("-", " ")}
              </option>
            ))}
          </select>
        </label>
      </form>
    </search>
  );
}

function Row({ row }: { row: Listed }) {
  const due = row.dueAt ?? row.wakeAt;
  const left = due == null ? null : Date.parse(due) - now.value;
  return (
    <a class="row" href={hashOf({ page: "conversation", id: row.id, entry: null })}>
      <span class="row-id">{row.id}</span>
      <StateChip state={row.state} />
      <span class="row-what soft">
        {row.pending > 0
          ? `${counted(row.pending, "message")} waiting`
          : counted(row.seq, "entry").replace("entrys", "entries")}
        {row.failures > 0 ? `, ${counted(row.failures, "failure")}` : ""}
        {left === null ? "" : left > 0 ? `, next in ${lasting(left)}` : `, due for ${lasting(-left)}`}
      </span>
      <time class="row-when soft" dateTime={row.updatedAt}>
        {dateTime(Date.parse(row.updatedAt))}
      </time>
    </a>
  );
}

function Feed({ events }: { events: Event[] }) {
  return (
    <section class="card feed" aria-label="Happening now">
      <div class="list-head">
        <h2>Happening now</h2>
      </div>
      {events.length === 0 ? (
        <p class="empty">Events of the process that serves this page appear here.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reachable by keyboard
        <ol tabIndex={0} aria-label="Newest events">
          {events.map((event, index) => (
            <li key={`${event.conversation} ${event.seq ?? event.type} ${event.at} ${index}`}>
              <time class="feed-time">{clockTime(Date.parse(event.at)).slice(0, 8)}</time>
              <a href={hashOf({ page: "conversation", id: event.conversation, entry: event.seq ?? null })}>
                {event.conversation}
              </a>
              <span class={/expired|failed|parked|unknown/.test(event.type) ? "bad-text" : "soft"}>
                {event.type.replace(".", " ")}
              </span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
