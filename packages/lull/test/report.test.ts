// A bug report tells nothing of what people wrote, and plays the bug again.
import { describe, expect, test } from "vitest";
import { Lull, type LullOptions, memory, redacted } from "../src/index.ts";
import type { Report } from "../src/report.ts";
import { settled, virtualClock } from "../src/testing/clock.ts";
import { clockBehind, gate, storeBehind } from "../src/testing/gate.ts";
import { replayReport } from "../src/testing/index.ts";

const marker = "MARKER";

function world(options: Partial<LullOptions> = {}) {
  const clock = virtualClock({ startMs: 1_750_000_000_000 });
  const store = memory({ now: clock.now });
  const door = gate(settled);
  const lull = new Lull({
    store: storeBehind(door, store),
    clock: clockBehind(door, clock, clock),
    owner: `process ${marker}`,
    respond: async (turn) => {
      await clock.sleep(3_000, turn.signal);
      return `you said ${turn.text}`;
    },
    deliver: async () => ({ status: "sent", id: marker }),
    ...options,
  });
  const say = (id: string, text: string, more = {}) =>
    lull.receive(`telegram:${marker}`, { id: `${marker} ${id}`, text, author: marker, ...more });
  /** As it travels. */
  const report = async (of = lull) => JSON.parse(JSON.stringify(await of.report(`telegram:${marker}`))) as Report;
  return { clock, store, door, lull, say, report };
}
const outcomes = (list: { outcome: string | null }[]) => list.map(({ outcome }) => outcome);

describe("a report", () => {
  test("has no text, no name and no id of anybody's, and the same stand-in for the same", async () => {
    const { clock, lull, say, report } = world();
    await lull.start();
    await say("a", `secret ${marker}`, { metadata: { [marker]: marker }, address: { chat: marker } });
    await clock.advance(20_000);
    await lull.edit(`telegram:${marker}`, `${marker} a`, { text: marker });
    await lull.handoff(`telegram:${marker}`, { by: marker });
    const told = await report();
    expect(JSON.stringify(told)).not.toContain(marker);
    expect(told).toMatchObject({
      schema: "lull-report/1",
      conversation: "conversation",
      versions: { store: "memory" },
    });
    expect(told.record.id).toBe("conversation");
    const [message] = told.log;
    expect(message).toMatchObject({ kind: "message", parts: [{ type: "text", text: "⟨13 characters⟩" }] });
    const edit = told.log.find(({ kind }) => kind === "edit") as { target: string };
    expect(edit.target).toBe((message as { id: string }).id);
    expect(told.settings).toMatchObject({ whenBusy: "interrupt", limits: { quietMs: 6_000, leaseMs: 30_000 } });
    expect(told.sentences.at(-1)).toMatch(/^[\d:.]{12} Now: a human answers until/);
    expect(await lull.report("nobody")).toBeNull();
    await lull.stop();
  });

  test("is played again: interruptions, failures and silence come at their times", async () => {
    let runs = 0;
    const { clock, lull, say, report } = world({
      respond: async (turn) => {
        runs += 1;
        await clock.sleep(2_000, turn.signal);
        if (runs === 2) throw new Error("500");
        return turn.text === "thanks" ? null : "ok";
      },
    });
    await lull.start();
    await say("a", "hi");
    await clock.advance(2_500);
    await say("b", "my order is late");
    await clock.advance(60_000);
    await say("c", "thanks");
    await clock.advance(60_000);
    const { attempts, replies, recorded, resting } = await replayReport(await report());
    expect(outcomes(recorded.attempts)).toEqual(["superseded", "failed", "answered", "silent"]);
    expect(outcomes(attempts)).toEqual(["superseded", "⟨3 characters⟩", "answered", "silent"]);
    expect(attempts.map(({ prompt }) => prompt.map((text) => text.length))).toEqual([[2], [2, 16], [2, 16], [6]]);
    expect([replies.length, recorded.replies, resting]).toEqual([1, 1, true]);
    // The first answer came when it came then, give or take a scan.
    const log = await lull.log(`telegram:${marker}`);
    const then = log.find(({ kind }) => kind === "reply")?.atMs ?? 0;
    expect(Math.abs((replies[0]?.atMs ?? 0) - (then - (log[0]?.atMs ?? 0)))).toBeLessThan(2_000);
    await lull.stop();
  });

  test("is played again with a process that dies, and another bot's answer", async () => {
    const { clock, store, door, lull, say, report } = world();
    await lull.start();
    await say("a", "hi");
    await clock.advance(2_000);
    door.die();
    const other = new Lull({ store, clock, owner: "other", respond: () => "late", deliver: async () => {} });
    await other.start();
    await clock.advance(90_000);
    const told = await report(other);
    await other.stop();
    const { attempts, recorded, replies } = await replayReport(told, (turn) => `mended: ${turn.messages.length}`);
    expect(outcomes(recorded.attempts)).toEqual(["expired", "answered"]);
    expect(attempts).toHaveLength(2);
    expect(replies.map(({ text }) => text)).toEqual(["mended: 1"]);
  });

  test("of something else is refused", async () => {
    await expect(replayReport({ schema: "lull-report/2" } as never)).rejects.toThrow("no report");
  });
});

describe("redacted", () => {
  test("hides whatever it does not know, and keeps numbers, words of ours and ids", () => {
    const value = {
      kind: "message",
      id: "m1",
      version: 3,
      invented: "text",
      reason: "typing",
      nested: { reason: "because", deeper: [{ secret: "x" }] },
      metadata: { kind: "message" },
      address: null,
      effects: { ab: { state: "ended", fence: 1, seq: 2 }, cd: { state: "begun", fence: 1, untilMs: 5 } },
      covers: ["m1", "m2"],
    };
    expect(redacted(value)).toEqual({
      kind: "message",
      id: "m1",
      version: 3,
      invented: "⟨4 characters⟩",
      reason: "typing",
      nested: { reason: "⟨7 characters⟩", deeper: [{ secret: "⟨1 character⟩" }] },
      metadata: "⟨18 characters⟩",
      address: null,
      effects: {
        "⟨2 characters⟩": { state: "ended", fence: 1, seq: 2 },
        "⟨2 characters⟩ 2": { state: "begun", fence: 1, untilMs: 5 },
      },
      covers: ["m1", "m2"],
    });
    expect(value.invented).toBe("text");
  });
});
