/**
 * One conversation: how it stands, its timeline, what explains it, its log, and what can be done.
 *
 * @module
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, pathOf } from "../shared/api.ts";
import type { Conversation } from "../shared/shapes.ts";
import { Acts } from "./acts.tsx";
import { Inspected } from "./inspected.ts";
import { LogView } from "./log-view.tsx";
import { download, ErrorNotice, fileName, StateChip, StreamNotice } from "./parts.tsx";
import { pictureOf } from "./picture.ts";
import { go, hashOf } from "./route.ts";
import { api, lostSession, mayOperate } from "./server.ts";
import type { Item, Timeline } from "./timeline/index.ts";
import { Legend, TimelineView } from "./timeline-view.tsx";
import { clockTime, counted, dateTime, grouped, lasting, ownerName } from "./words.ts";

export function ConversationPage({ id, entry }: { id: string; entry: number | null }) {
  const inspected = useMemo(() => new Inspected(id, entry), [id]);
  useEffect(() => () => inspected.close(), [inspected]);
  const [pointed, setPointed] = useState<Item[] | null>(null);
  const [said, setSaid] = useState("");
  const frame = useRef<HTMLDivElement>(null);
  const conversation = inspected.conversation.value;
  const timeline = inspected.timeline.value;
  const isLive = timeline?.items.some((item) => item.open) ?? false;
  const now = useNow(inspected, isLive);

  // A permalink into what is not loaded.
  useEffect(() => {
    if (conversation !== null && entry !== null && !inspected.stretch().some(({ seq }) => seq === entry))
      void inspected.show(entry);
  }, [entry, conversation !== null]);

  const select = (item: Item) => {
    if (item.seq !== null) go({ page: "conversation", id, entry: item.seq });
  };
  const told = pointed ?? itemsOf(timeline, entry);
  const error = inspected.error.value;

  const exportPicture = () => {
    const svg = frame.current?.querySelector("svg");
    if (!svg || timeline === null) return;
    const caption = `lull timeline, ${dateTime(timeline.start)} to ${dateTime(timeline.end)} UTC, texts left out`;
    download(fileName(id, "-timeline.svg"), "image/svg+xml", pictureOf(svg, caption));
  };
  const exportReport = async () => {
    try {
      const report = await api.get<object>(pathOf(id, "/report"));
      download(fileName(id, "-report.json"), "application/json", `${JSON.stringify(report, null, 2)}\n`);
      setSaid(
        "The bug report was saved: texts are replaced by their lengths. replayReport of lull/testing plays it again.",
      );
    } catch (thrown) {
      if (lostSession(thrown)) return;
      if (!(thrown instanceof ApiError)) throw thrown;
      inspected.error.value = thrown;
    }
  };

  return (
    <>
      <div class="page-head">
        <a href={hashOf({ page: "conversations", prefix: "", author: "", state: "" })} class="back">
          Conversations
        </a>
        <h1 class="mono conversation-id">{id}</h1>
        {conversation && <StateChip state={conversation.state} />}
        {conversation && <StreamNotice state={inspected.stream.value} />}
      </div>
      {error && <ErrorNotice error={error} onRetry={() => void inspected.refresh()} />}
      {conversation === null ? (
        error === null && <p class="soft">Reading the conversation…</p>
      ) : (
        <>
          <Standing conversation={conversation} now={now} />
          {mayOperate.value ? (
            <Acts
              conversation={conversation}
              onDone={(words) => {
                setSaid(words);
                void inspected.refresh();
              }}
            />
          ) : (
            <p class="soft small">This key may look, and not act: that takes one with the role operate.</p>
          )}
          <p class="said-done" role="status">
            {said}
          </p>
          <section class="card timeline-card" aria-label="Timeline" ref={frame}>
            {timeline === null ? (
              <p class="empty">Reading the log…</p>
            ) : timeline.items.length === 0 ? (
              <p class="empty">The log is empty.</p>
            ) : (
              <TimelineView
                timeline={timeline}
                now={now}
                selected={entry}
                onPoint={setPointed}
                onSelect={select}
                onOlder={(inspected.stretch()[0]?.seq ?? 1) > inspected.log.first ? () => void inspected.older() : null}
              >
                {!inspected.reachesNow && (
                  <button type="button" class="button" onClick={() => void inspected.show(null)}>
                    To now
                  </button>
                )}
                <button
                  type="button"
                  class="button"
                  onClick={exportPicture}
                  title="As a picture, without what people wrote"
                >
                  Save as SVG
                </button>
                <button
                  type="button"
                  class="button"
                  onClick={() => void exportReport()}
                  title="For a test: texts replaced by their lengths"
                >
                  Bug report
                </button>
              </TimelineView>
            )}
            <Facts items={told} id={id} entry={entry} />
          </section>
          <div class="below">
            <section class="card" aria-label="Explanation">
              <div class="list-head">
                <h2>Explain</h2>
                <span class="soft">times in UTC</span>
              </div>
              <Sentences sentences={inspected.sentences.value} />
            </section>
            <section class="card" aria-label="Log">
              <div class="list-head">
                <h2>Log</h2>
                <span class="soft">
                  {grouped(inspected.log.seq.value)} {inspected.log.seq.value === 1 ? "entry" : "entries"}
                </span>
              </div>
              <LogView id={id} log={inspected.log} selected={entry} />
              {entry !== null && <Raw inspected={inspected} entry={entry} />}
            </section>
          </div>
        </>
      )}
    </>
  );
}

/** What an entry began, the most telling first. */
function itemsOf(timeline: Timeline | null, entry: number | null): Item[] {
  if (timeline === null || entry === null) return [];
  const order: Item["lane"][] = ["people", "reply", "operator", "part", "effect", "attempt", "window", "lease"];
  const items = timeline.items.filter(({ seq }) => seq === entry);
  return items.sort((a, b) => order.indexOf(a.lane) - order.indexOf(b.lane));
}

/** Ticks while something goes on; less often for those who want no motion. */
function useNow(inspected: Inspected, isLive: boolean): number {
  const [now, setNow] = useState(() => inspected.now());
  useEffect(() => {
    const everyMs = !isLive ? 5_000 : matchMedia("(prefers-reduced-motion: reduce)").matches ? 1_000 : 250;
    const timer = setInterval(() => {
      if (!document.hidden) setNow(inspected.now());
    }, everyMs);
    return () => clearInterval(timer);
  }, [inspected, isLive]);
  return Math.max(now, inspected.timeline.value?.end ?? 0);
}

function Standing({ conversation, now }: { conversation: Conversation; now: number }) {
  const { lease, handoff, parked, outbox, wakeAt } = conversation;
  const until = (at: string) => lasting(Math.max(0, Date.parse(at) - now));
  const facts: [string, string][] = [
    ["Messages", `${grouped(conversation.version)}, answered up to ${grouped(conversation.answered)}`],
  ];
  if (conversation.pending > 0) facts.push(["Unanswered", counted(conversation.pending, "message")]);
  if (conversation.quietAt !== null && lease === null)
    facts.push(["Quiet at", clockTime(Date.parse(conversation.quietAt))]);
  if (lease !== null) {
    facts.push(["Holder", `${ownerName(lease.owner)}, fence ${lease.fence}`]);
    const left = Date.parse(lease.expiresAt) - now;
    facts.push(["Lease", left > 0 ? `ends in ${lasting(left)}` : `expired ${lasting(-left)} ago`]);
  }
  if (outbox !== null) facts.push(["Reply on its way", outbox.parts.map((part) => part.state).join(", ")]);
  if (conversation.failures > 0) facts.push(["Failures", `${conversation.failures} in this turn`]);
  if (conversation.restarts > 0) facts.push(["Discarded", `${conversation.restarts} in this turn`]);
  if (handoff !== null)
    facts.push(["Handed off", `for ${until(handoff.untilAt)} more${handoff.by ? `, by ${handoff.by}` : ""}`]);
  if (parked !== null) facts.push(["Given up", `inputs ${parked.from + 1} to ${parked.to}: ${parked.reason}`]);
  if (wakeAt !== null && lease === null) {
    const left = Date.parse(wakeAt) - now;
    facts.push(["Next look", left > 0 ? `in ${lasting(left)}` : `due for ${lasting(-left)}`]);
  }
  facts.push(["Changed", `${dateTime(Date.parse(conversation.updatedAt))} UTC`]);
  return (
    <dl class="standing">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What is pointed at, in words. */
function Facts({ items, id, entry }: { items: Item[]; id: string; entry: number | null }) {
  const [copied, setCopied] = useState(false);
  const [item] = items;
  useEffect(() => setCopied(false), [entry]);
  if (item === undefined)
    return (
      <div class="facts">
        <span class="soft">Point at something, or move to it with the arrow keys, to see its facts here.</span>
        <Legend />
      </div>
    );
  const isGroup = items.length > 1 && items.some(({ seq }) => seq !== item.seq);
  if (isGroup) {
    const kinds = new Map<string, number>();
    for (const { kind } of items) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    return (
      <div class="facts">
        <strong>
          {counted(items.length, "thing")} from {clockTime(item.start)} to{" "}
          {clockTime(items.at(-1)?.start ?? item.start)}
        </strong>
        <dl>
          {[...kinds].map(([kind, count]) => (
            <div key={kind}>
              <dt>{kind}</dt>
              <dd>{grouped(count)}</dd>
            </div>
          ))}
        </dl>
        <span class="soft">Click, or press Enter, to look into it.</span>
      </div>
    );
  }
  const copy = async () => {
    await navigator.clipboard?.writeText(
      location.href.replace(/#.*$/, "") + hashOf({ page: "conversation", id, entry: item.seq }),
    );
    setCopied(true);
  };
  return (
    <div class="facts">
      <strong>{item.title}</strong>
      <dl>
        <div>
          <dt>{item.start === item.end ? "At" : "From"}</dt>
          <dd>{clockTime(item.start)}</dd>
        </div>
        {item.start !== item.end && (
          <div>
            <dt>To</dt>
            <dd>{item.open ? "now" : clockTime(item.end)}</dd>
          </div>
        )}
        {item.facts.map(({ name, value }, index) => (
          <div key={index}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {item.seq !== null && item.seq === entry && (
        <button type="button" class="button" onClick={() => void copy()}>
          {copied ? "Link copied" : "Copy link to entry"}
        </button>
      )}
    </div>
  );
}

/** Newest sentences first in sight: the list is scrolled to its end. */
function Sentences({ sentences }: { sentences: string[] | null }) {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const node = list.current;
    if (node !== null) node.scrollTop = node.scrollHeight;
  }, [sentences?.length]);
  if (sentences === null) return <p class="empty">Reading…</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <ol class="sentences" ref={list} tabIndex={0} aria-label="What happened, in sentences">
      {sentences.map((sentence, index) => {
        const [, time, words] = /^(\d\d:\d\d:\d\d\.\d+) (.*)$/s.exec(sentence) ?? [null, "", sentence];
        return (
          <li key={index} class={/^Now:/.test(words) ? "standing-now" : undefined}>
            <time class="sentence-time">{time}</time>
            <span>{words}</span>
          </li>
        );
      })}
    </ol>
  );
}

function Raw({ inspected, entry }: { inspected: Inspected; entry: number }) {
  inspected.log.version.value;
  const raw = inspected.log.at(entry);
  if (raw === undefined) return null;
  return (
    <details class="raw">
      <summary>Entry {grouped(entry)} as it is stored</summary>
      <pre>{JSON.stringify(raw, null, 2)}</pre>
    </details>
  );
}
