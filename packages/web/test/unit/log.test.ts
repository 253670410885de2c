import { describe, expect, it } from "vitest";
import { chartsOf, timesOf, totalsOf } from "../../src/inspector/figures.ts";
import { Log, pageSize } from "../../src/inspector/log.ts";
import { lasting, ownerName } from "../../src/inspector/words.ts";
import type { Api } from "../../src/shared/api.ts";
import type { Entry, HealthBucket } from "../../src/shared/shapes.ts";
import { frames } from "../../src/shared/stream.ts";

/** A server with a log of `first … last`, that counts its pages. */
function serving(first: number, last: number) {
  const asked: number[] = [];
  const get = async (_: string, query: { from: number; before: number; limit: number }) => {
    asked.push(query.from);
    const entries: Entry[] = [];
    const until = Math.min(query.before - 1, last, query.from + query.limit - 1);
    for (let seq = Math.max(first, query.from); seq <= until; seq++) entries.push(entryAt(seq));
    return { entries };
  };
  const log = new Log({ get } as unknown as Api, "web:1", new AbortController().signal);
  log.reaches(last);
  return { log, asked };
}

const entryAt = (seq: number) => ({ kind: "sealed", fence: 1, seq, at: "2026-01-01T00:00:00.000Z" }) as Entry;

describe("a log in pages", () => {
  it("asks for what is in sight and nothing twice", async () => {
    const { log, asked } = serving(1, 10_000);
    await Promise.all([log.need(9_990, 10_000), log.need(9_990, 10_000)]);
    await log.need(9_600, 9_700);
    expect(asked).toEqual([9_501]);
    expect(log.at(9_501)?.seq).toBe(9_501);
    expect(log.at(9_500)).toBeUndefined();
    await log.need(499, 502);
    expect(asked).toEqual([9_501, 1, 1 + pageSize]);
  });

  it("has a stretch without gaps around a place, and grows by what is heard", async () => {
    const { log } = serving(1, 1_200);
    await log.need(1_100, 1_200);
    await log.need(1, 10);
    expect(log.stretch(1_200).map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, i) => 1_001 + i));
    expect(log.stretch(5)).toHaveLength(500);
    expect(log.stretch(700)).toEqual([]);
    log.heard(entryAt(1_201));
    expect(log.seq.value).toBe(1_201);
    expect(log.stretch(1_201)).toHaveLength(201);
  });

  it("begins where retention left off", async () => {
    const { log, asked } = serving(730, 1_000);
    await log.need(1, 1_000);
    expect(log.first).toBe(730);
    await log.need(1, 1_000);
    expect(asked).toEqual([1, 501]);
  });
});

describe("a stream of events", () => {
  const read = async (...chunks: string[]) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
        controller.close();
      },
    });
    const found = [];
    for await (const frame of frames(body)) found.push(frame);
    return found;
  };

  it("is read over chunks, comments, waits and both line ends", async () => {
    expect(
      await read('retry: 1000\n\n: still here\n\nid: 7\n\nid: 8\nevent: a\ndata: {"x":', '"é"}\n', "\ndata: 1\r\n\r\n"),
    ).toEqual([
      { id: 7, data: undefined },
      { id: 8, data: { x: "é" } },
      { id: null, data: 1 },
    ]);
  });

  it("gives nothing of an event that was cut off", async () => {
    expect(await read("id: 1\ndata: 1\n\nid: 2\ndata: 2\n")).toEqual([{ id: 1, data: 1 }]);
  });
});

describe("figures of health", () => {
  const quiet: HealthBucket = {
    at: "2026-01-01T00:00:00.000Z",
    answers: 0,
    silent: 0,
    superseded: 0,
    failed: 0,
    expired: 0,
    crossed: 0,
    duplicates: 0,
    parked: 0,
    tokens: 0,
    wasteTokens: 0,
    wait: { window: null, queue: null, model: null, delivery: null, total: null },
    dueLagMs: null,
  };
  const busy: HealthBucket = {
    ...quiet,
    at: "2026-01-01T00:05:00.000Z",
    answers: 10,
    crossed: 1,
    superseded: 4,
    wait: { ...quiet.wait, total: [8_000, 12_345] },
    dueLagMs: 40,
  };
  const lineOf = (chart: string, name: string) =>
    chartsOf([quiet, busy], 300)
      .find(({ id }) => id === chart)
      ?.lines.find((line) => line.name === name)?.values;

  it("are rates a minute, seconds and shares, with gaps where nothing happened", () => {
    expect(timesOf([quiet, busy])).toEqual([1_767_225_600, 1_767_225_900]);
    expect(lineOf("answers", "answers")).toEqual([0, 2]);
    expect(lineOf("lost", "discarded")).toEqual([0, 0.8]);
    expect(lineOf("wait50", "total")).toEqual([null, 8]);
    expect(lineOf("wait95", "total")).toEqual([null, 12.35]);
    expect(lineOf("crossed", "crossed")).toEqual([null, 10]);
    expect(lineOf("lag", "lag")).toEqual([null, 0.04]);
  });

  it("add up", () => {
    expect(totalsOf([quiet, busy], 300)).toMatchObject({ answers: 10, perMinute: 1, crossedShare: 0.1, discarded: 4 });
    expect(totalsOf([quiet], 60)).toMatchObject({ answers: 0, crossedShare: null });
  });
});

it("says durations and names as people do", () => {
  expect([250, 6_000, 99_900, 185_000, 7_400_000, 180_000_000].map(lasting)).toEqual([
    "250 ms",
    "6.0 s",
    "99.9 s",
    "3 min 5 s",
    "2 h 3 min",
    "2 d 2 h",
  ]);
  expect(ownerName("caf7a17c-efcb-4f9d-ae26-c1c89caf8da9")).toBe("caf7a17c");
  expect(ownerName("web-1:4711")).toBe("web-1:4711");
});
