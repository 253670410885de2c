/**
 * What the health page shows, worked out from the server's buckets. Pure.
 *
 * @module
 */
import type { HealthBucket } from "../shared/shapes.ts";

/** One line of a chart; null where nothing happened. */
export interface Line {
  name: string;
  values: (number | null)[];
  /** A custom property of the theme. */
  color: string;
  dash?: number[];
}

export interface Chart {
  id: string;
  title: string;
  /** What the numbers are, for people. */
  unit: string;
  note: string;
  lines: Line[];
}

export const stages = ["window", "queue", "model", "delivery", "total"] as const;

/** Seconds since 1970 of each bucket. */
export function timesOf(buckets: readonly HealthBucket[]): number[] {
  return buckets.map(({ at }) => Date.parse(at) / 1_000);
}

export function chartsOf(buckets: readonly HealthBucket[], bucketSeconds: number): Chart[] {
  const perMinute = (count: number) => round((count * 60) / bucketSeconds);
  const of = (pick: (bucket: HealthBucket) => number | null) => buckets.map(pick);
  const wait = (stage: (typeof stages)[number], which: 0 | 1) =>
    of(({ wait }) => {
      const pair = wait[stage];
      return pair === null ? null : round(pair[which] / 1_000);
    });
  return [
    {
      id: "answers",
      title: "Answers",
      unit: "a minute",
      note: "Committed answers, and turns the bot chose to leave unanswered.",
      lines: [
        { name: "answers", values: of((b) => perMinute(b.answers)), color: "--accent" },
        { name: "silent", values: of((b) => perMinute(b.silent)), color: "--edge", dash: [4, 4] },
      ],
    },
    {
      id: "wait50",
      title: "Wait, median",
      unit: "seconds",
      note: "From a turn's last message to the first part of its answer, and what it was spent on: the model's time within the window costs nobody anything.",
      lines: waitLines((stage) => wait(stage, 0)),
    },
    {
      id: "wait95",
      title: "Wait, 95th percentile",
      unit: "seconds",
      note: "One in twenty answers took longer than this.",
      lines: waitLines((stage) => wait(stage, 1)),
    },
    {
      id: "lost",
      title: "Attempts that did not answer",
      unit: "a minute",
      note: "Discarded for newer input (as it should be), failed, lost with their process, and turns given up.",
      lines: [
        { name: "discarded", values: of((b) => perMinute(b.superseded)), color: "--warm" },
        { name: "failed", values: of((b) => perMinute(b.failed)), color: "--bad" },
        { name: "expired leases", values: of((b) => perMinute(b.expired)), color: "--bad", dash: [2, 3] },
        { name: "parked", values: of((b) => perMinute(b.parked)), color: "--ink", dash: [6, 4] },
      ],
    },
    {
      id: "crossed",
      title: "Interrupted turns",
      unit: "% of answers",
      note: "A message crossed the answer: the user was still typing when it appeared.",
      lines: [
        {
          name: "crossed",
          values: of((b) => (b.answers === 0 ? null : round((100 * b.crossed) / b.answers))),
          color: "--warm",
        },
      ],
    },
    {
      id: "duplicates",
      title: "Duplicates refused",
      unit: "a minute",
      note: "The same message handed in again, and answered as the first time.",
      lines: [{ name: "duplicates", values: of((b) => perMinute(b.duplicates)), color: "--accent" }],
    },
    {
      id: "tokens",
      title: "Tokens",
      unit: "a minute",
      note: "As the bot counts them; wasted are those of attempts that were discarded or failed.",
      lines: [
        { name: "all", values: of((b) => perMinute(b.tokens)), color: "--accent" },
        { name: "wasted", values: of((b) => perMinute(b.wasteTokens)), color: "--warm", dash: [4, 4] },
      ],
    },
    {
      id: "lag",
      title: "Lag of the due index",
      unit: "seconds",
      note: "How late the latest timer was heard. Seconds for long means: too few processes, or a slow store.",
      lines: [
        { name: "lag", values: of((b) => (b.dueLagMs === null ? null : round(b.dueLagMs / 1_000))), color: "--accent" },
      ],
    },
  ];
}

function waitLines(values: (stage: (typeof stages)[number]) => (number | null)[]): Line[] {
  return [
    { name: "total", values: values("total"), color: "--ink" },
    { name: "window", values: values("window"), color: "--accent" },
    { name: "queue", values: values("queue"), color: "--edge", dash: [2, 3] },
    { name: "model", values: values("model"), color: "--warm" },
    { name: "delivery", values: values("delivery"), color: "--human", dash: [6, 4] },
  ];
}

export interface Totals {
  answers: number;
  perMinute: number;
  crossedShare: number | null;
  discarded: number;
  failed: number;
  expired: number;
  parked: number;
  duplicates: number;
  tokens: number;
  wasteTokens: number;
}

export function totalsOf(buckets: readonly HealthBucket[], bucketSeconds: number): Totals {
  const sum = (pick: (bucket: HealthBucket) => number) => buckets.reduce((all, bucket) => all + pick(bucket), 0);
  const answers = sum((b) => b.answers);
  const minutes = Math.max(1, (buckets.length * bucketSeconds) / 60);
  return {
    answers,
    perMinute: round(answers / minutes),
    crossedShare: answers === 0 ? null : sum((b) => b.crossed) / answers,
    discarded: sum((b) => b.superseded),
    failed: sum((b) => b.failed),
    expired: sum((b) => b.expired),
    parked: sum((b) => b.parked),
    duplicates: sum((b) => b.duplicates),
    tokens: sum((b) => b.tokens),
    wasteTokens: sum((b) => b.wasteTokens),
  };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
