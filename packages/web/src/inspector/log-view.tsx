/**
 * The raw log: every entry a row, of which only those in sight exist, and pages of it are fetched as they come in sight.
 *
 * @module
 */
import { useCallback } from "preact/hooks";
import type { Entry } from "../shared/shapes.ts";
import { VirtualList } from "../shared/virtual.tsx";
import type { Log } from "./log.ts";
import { hashOf } from "./route.ts";
import { clockTime, dateTime, excerpt, grouped, ownerName } from "./words.ts";

const rowHeight = 34;

export function LogView({ id, log, selected }: { id: string; log: Log; selected: number | null }) {
  // Read, so that the list is drawn anew when entries come.
  log.version.value;
  const { first } = log;
  const count = Math.max(0, log.seq.value - first + 1);
  const sight = useCallback(
    (from: number, to: number) => {
      // What fails here is told by the page, and asked for again when it is scrolled to again.
      log.need(from + log.first, to + log.first).catch(() => {});
    },
    [log],
  );
  return (
    <VirtualList
      count={count}
      rowHeight={rowHeight}
      label={`${grouped(count)} entries, oldest first`}
      class="log"
      stick={selected === null}
      show={selected === null ? null : selected - first}
      onSight={sight}
      row={(index) => (
        <Row id={id} seq={index + first} entry={log.at(index + first)} selected={index + first === selected} />
      )}
    />
  );
}

function Row({ id, seq, entry, selected }: { id: string; seq: number; entry: Entry | undefined; selected: boolean }) {
  if (entry === undefined)
    return (
      <span class="log-row soft">
        <span class="log-seq">{seq}</span> …
      </span>
    );
  return (
    <a
      class={`log-row kind-${entry.kind}`}
      href={hashOf({ page: "conversation", id, entry: seq })}
      aria-current={selected ? "true" : undefined}
    >
      <span class="log-seq">{seq}</span>
      <time class="log-time" dateTime={entry.at}>
        {clockTime(Date.parse(entry.at))}
      </time>
      <span class="log-kind">{entry.kind}</span>
      <span class="log-line">{lineOf(entry)}</span>
    </a>
  );
}

/** What an entry says, in a line. */
export function lineOf(entry: Entry): string {
  switch (entry.kind) {
    case "message":
    case "edit":
      return `v${entry.version}${entry.author ? ` ${entry.author}` : ""}: ${excerpt(entry.parts)}`;
    case "retraction":
      return `v${entry.version} takes back ${entry.target}`;
    case "retry":
      return `inputs ${entry.from + 1}–${entry.to}${by(entry.by)}`;
    case "attempt":
      return `#${entry.attempt} by ${ownerName(entry.owner)}, fence ${entry.fence}, inputs ${entry.from + 1}–${entry.to}${entry.sealed ? ", sealed" : ""}`;
    case "absorbed":
      return `up to v${entry.to}`;
    case "sealed":
      return `fence ${entry.fence}`;
    case "ended":
      return `${entry.outcome}${entry.error ? `: ${entry.error}` : ""}`;
    case "reply":
      return `inputs ${entry.from + 1}–${entry.to}${entry.overtaken ? ", overtaken" : ""}: ${excerpt(entry.parts)}`;
    case "part":
      return `part ${entry.index + 1}: ${excerpt([entry.part])}`;
    case "receipt":
      return `part ${entry.index + 1} ${entry.state}${entry.error ? `: ${entry.error}` : ""}`;
    case "closed":
      return entry.outcome;
    case "settled":
      return `inputs ${entry.from + 1}–${entry.to} ${entry.outcome}${entry.reason ? `: ${entry.reason}` : ""}`;
    case "effect":
      return `${entry.key}${entry.late ? ", late" : ""}`;
    case "effect-unknown":
      return entry.key;
    case "draft":
      return entry.state;
    case "usage":
      return `${grouped(entry.tokens)} tokens`;
    case "send":
      return excerpt(entry.parts);
    case "human":
      return `up to v${entry.upTo}${by(entry.author)}: ${excerpt(entry.parts)}`;
    case "handoff":
      return `until ${dateTime(Date.parse(entry.untilAt))}${by(entry.by)}`;
    case "resumed":
      return `${entry.backlog}${by(entry.by)}`;
    case "tuned":
      return `${JSON.stringify(entry.tuning)}${by(entry.by)}`;
    case "reset":
      return `${entry.forget ? "forget" : "stop"}${by(entry.by)}`;
    default:
      // Kinds that a newer server writes.
      return by((entry as { by?: string }).by).replace(/^, /, "");
  }
}

function by(name: string | undefined): string {
  return name === undefined ? "" : `, by ${name}`;
}
