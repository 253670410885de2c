/**
 * How the bot does: what this process answered over time, and how the whole store stands.
 *
 * @module
 */
import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../shared/api.ts";
import type { Health } from "../shared/shapes.ts";
import { ChartView } from "./chart.tsx";
import { chartsOf, timesOf, totalsOf } from "./figures.ts";
import { ErrorNotice } from "./parts.tsx";
import { hashOf } from "./route.ts";
import { api, lostSession } from "./server.ts";
import { dateTime, grouped, ownerName } from "./words.ts";

const everyMs = 10_000;
const ranges = [
  [15, "15 minutes"],
  [60, "1 hour"],
  [360, "6 hours"],
  [1_440, "24 hours"],
] as const;

export function HealthPage() {
  const [minutes, setMinutes] = useState(60);
  const [health, setHealth] = useState<Health | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [again, setAgain] = useState(0);

  useEffect(() => {
    const end = new AbortController();
    const ask = async () => {
      if (document.hidden) return;
      try {
        setHealth(await api.get<Health>("v1/health", { minutes }, end.signal));
        setError(null);
      } catch (thrown) {
        if (end.signal.aborted || lostSession(thrown)) return;
        if (!(thrown instanceof ApiError)) throw thrown;
        setError(thrown);
      }
    };
    void ask();
    const timer = setInterval(() => void ask(), everyMs);
    return () => {
      clearInterval(timer);
      end.abort();
    };
  }, [minutes, again]);

  return (
    <>
      <div class="page-head">
        <h1>Health</h1>
        <label class="field range">
          <span class="hidden-text">Time shown</span>
          <select value={String(minutes)} onChange={({ currentTarget }) => setMinutes(Number(currentTarget.value))}>
            {ranges.map(([value, words]) => (
              <option key={value} value={String(value)}>
                last {words}
              </option>
            ))}
          </select>
        </label>
      </div>
      {error && <ErrorNotice error={error} onRetry={() => setAgain(again + 1)} />}
      {health === null ? error === null && <p class="soft">Asking the server…</p> : <Shown health={health} />}
    </>
  );
}

function Shown({ health }: { health: Health }) {
  const { buckets, bucketSeconds, states } = health;
  const totals = totalsOf(buckets, bucketSeconds);
  const times = timesOf(buckets);
  const cards: [name: string, value: string, more?: string | undefined][] = [
    ["Answers", grouped(totals.answers), `${totals.perMinute} a minute`],
    ["Interrupted turns", totals.crossedShare === null ? "–" : `${(totals.crossedShare * 100).toFixed(1)} %`],
    [
      "Discarded attempts",
      grouped(totals.discarded),
      totals.tokens > 0 ? `${grouped(totals.wasteTokens)} of ${grouped(totals.tokens)} tokens` : undefined,
    ],
    ["Failed attempts", grouped(totals.failed)],
    ["Expired leases", grouped(totals.expired)],
    ["Duplicates refused", grouped(totals.duplicates)],
    ["Given up", grouped(totals.parked)],
  ];
  return (
    <>
      <section aria-labelledby="whole">
        <h2 id="whole" class="section-head">
          The whole store <span class="soft">now, all processes</span>
        </h2>
        <dl class="numbers">
          {Object.entries(states).map(([state, count]) => (
            <div key={state} class="card">
              <dt>{state.replace(/-/g, " ").replace(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`)}</dt>
              <dd>
                {typeof count === "number" && linkable.has(state) && count > 0 ? (
                  <a href={hashOf({ page: "conversations", prefix: "", author: "", state })}>{grouped(count)}</a>
                ) : typeof count === "number" ? (
                  grouped(count)
                ) : (
                  "–"
                )}
              </dd>
            </div>
          ))}
        </dl>
      </section>
      <section aria-labelledby="mine">
        <h2 id="mine" class="section-head">
          This process{" "}
          <span class="soft">
            {ownerName(health.owner)}, since {dateTime(Date.parse(health.sinceAt))} UTC, in steps of {bucketSeconds} s
          </span>
        </h2>
        <dl class="numbers">
          {cards.map(([name, value, more]) => (
            <div key={name} class="card">
              <dt>{name}</dt>
              <dd>
                {value}
                {more && <small class="soft">{more}</small>}
              </dd>
            </div>
          ))}
        </dl>
        <div class="charts">
          {chartsOf(buckets, bucketSeconds).map((chart) => (
            <ChartView key={chart.id} chart={chart} times={times} />
          ))}
        </div>
      </section>
    </>
  );
}

/** States that the list can be narrowed down to. */
const linkable = new Set(["waiting", "answering", "delivering", "parked", "handed-off", "overdue", "resting"]);
