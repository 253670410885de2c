// Provisional text: shown from the quiet target on, replaced by the reply, taken back when no reply comes, and never left
// behind, whoever dies in between.
import assert from "node:assert/strict";
import { dice } from "lull/testing";
import { describe, expect, it } from "vitest";
import type { Answer, Turn } from "../../src/index.ts";
import { createWorld, type Run, type Setting, type StoreKind, type World } from "../scenarios/world.ts";
import { type Screen, type ScreenOptions, screen } from "../support/screen.ts";

/** A model that writes `word 1 word 2 …`, one word every half second. */
function writes(words: number) {
  return async (turn: Turn, run: Run): Promise<Answer> => {
    let text = "";
    for (let word = 1; word <= words; word += 1) {
      await run.think(500);
      text += `${word === 1 ? "" : " "}${run.nth}.${word}`;
      turn.draft(text);
    }
    return text;
  };
}

function world(setting: Setting, options: Partial<ScreenOptions> = {}, kind: StoreKind = "memory") {
  const shown: { screen: Screen | null } = { screen: null };
  const channel = {
    draft: (...args: Parameters<NonNullable<Screen["channel"]["draft"]>>) => on().channel.draft?.(...args) as never,
    deliver: (...args: Parameters<Screen["channel"]["deliver"]>) => on().channel.deliver(...args),
  };
  const w = createWorld(kind, { ...setting, channel: { ...channel, ...setting.channel } });
  const on = (): Screen => {
    shown.screen ??= screen({ now: () => w.ms, ...options });
    return shown.screen;
  };
  return { w, on };
}

const texts = ({ bubbles }: Screen) => bubbles.map(({ text, draft }) => `${text}${draft ? " (draft)" : ""}`);
const drafts = async (w: World) => (await w.log()).flatMap((entry) => (entry.kind === "draft" ? [entry.state] : []));

describe("drafts", () => {
  it("are shown from the quiet target on, at most once a second, and the reply takes their place", async () => {
    const { w, on } = world({
      model: writes(8),
      options: { debounce: { quietMs: 3_000, startMs: 1_000, maxWaitMs: 60_000 } },
    });
    await (await w.process("P1")).hears("m1");
    await w.until(30_000);
    expect(on().steps).toEqual([
      '3000 shows b1 "1.1 1.2 1.3"',
      '4000 edits b1 "1.1 1.2 1.3 1.4 1.5"',
      '5000 edits b1 "1.1 1.2 1.3 1.4 1.5 1.6 1.7"',
      '5000 finishes b1 "1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.8"',
    ]);
    expect(await drafts(w)).toEqual(["shown", "replaced"]);
    expect((await w.record()).draft).toBeNull();
    await w.verify();
  });

  it("never show at all when the answer is there first", async () => {
    const { w, on } = world({ model: writes(2), options: { debounce: { quietMs: 6_000, startMs: 1_000 } } });
    await (await w.process("P1")).hears("m1");
    await w.until(30_000);
    expect(on().steps).toEqual(['6000 shows b1 "1.1 1.2"']);
    expect(await drafts(w)).toEqual([]);
  });

  it("are taken back when newer input discards the attempt; the next one stands below it", async () => {
    const { w, on } = world({ model: writes(6) });
    const one = await w.process("P1");
    await one.hears("m1");
    await w.until(2_700);
    expect(texts(on())).toEqual(["1.1 1.2 (draft)"]);
    await one.hears("m2");
    await w.until(2_710);
    expect(texts(on())).toEqual([]);
    await w.until(30_000);
    expect(texts(on())).toEqual(["2.1 2.2 2.3 2.4 2.5 2.6"]);
    expect(await drafts(w)).toEqual(["shown", "retracted", "shown", "replaced"]);
    await w.verify();
  });

  it("that could not be taken back at once are taken back before the next one is shown", async () => {
    let deletions = 0;
    const { w, on } = world(
      { model: writes(6) },
      { script: (what) => (what === "delete" && ++deletions === 1 ? new Error("503") : undefined) },
    );
    const one = await w.process("P1");
    await one.hears("m1");
    await w.until(2_700);
    await one.hears("m2");
    await w.until(30_000);
    expect(texts(on())).toEqual(["2.1 2.2 2.3 2.4 2.5 2.6"]);
    expect(on().steps.slice(2, 4)).toEqual(["4200 takes back b1", '4200 shows b2 "2.1"']);
  });

  it("of a process that was killed are gone on with by the next: one message, finished", async () => {
    for (const kind of ["memory", "sqlite"] as const) {
      const { w, on } = world({ model: writes(6) }, {}, kind);
      const one = await w.process("P1");
      await w.process("P2");
      await one.hears("m1");
      await w.until(2_700);
      one.crash();
      await w.until(5_000);
      expect(texts(on())).toEqual(["1.1 1.2 (draft)"]);
      await w.until(30_000);
      expect(on().bubbles).toEqual([
        { id: "b1", key: on().bubbles[0]?.key, text: "2.1 2.2 2.3 2.4 2.5 2.6", draft: false },
      ]);
      expect(await drafts(w)).toEqual(["shown", "replaced"]);
      await w.verify();
      await w.close();
    }
  });

  it("whose id was lost in a crash are found by their key, where the platform can look", async () => {
    const { w, on } = world({ model: writes(6) }, { searchable: true });
    const one = await w.process("P1");
    await w.process("P2");
    await one.hears("m1");
    // The draft is on the screen; what would record its id dies with the process.
    w.fault = ({ process, method, entries }) =>
      process === "P1" && method === "exchange" && entries.length === 0 && on().bubbles.length > 0 ? "died" : undefined;
    await w.until(30_000);
    expect(one.state).toBe("dead");
    expect(texts(on())).toEqual(["2.1 2.2 2.3 2.4 2.5 2.6"]);
  });

  it("are taken back when the turn ends in silence", async () => {
    const write = writes(4);
    const { w, on } = world({
      async model(turn, run) {
        await write(turn, run);
        return null;
      },
    });
    const one = await w.process("P1");
    await one.hears("m1");
    await w.until(3_500);
    const told = (await one.lull.explain("c")).map((line) => line.slice(13));
    expect(told.slice(2, 5)).toEqual([
      "Provisional text is being shown.",
      "The bot chose to stay silent (input 1).",
      "The draft was taken back.",
    ]);
    expect(on().steps).toEqual(['1500 shows b1 "1.1"', '2500 edits b1 "1.1 1.2"', "3000 takes back b1"]);
    expect(await drafts(w)).toEqual(["shown", "retracted"]);
    await w.verify();
  });

  it("are replaced by the fallback when the turn is given up, or taken back where there is none", async () => {
    for (const fallback of ["Sorry.", undefined]) {
      const write = writes(3);
      const { w, on } = world({
        async model(turn, run) {
          await write(turn, run);
          throw new Error("500 from the model");
        },
        options: { limits: { maxFailures: 2 }, ...(fallback !== undefined && { fallback }) },
      });
      await (await w.process("P1")).hears("m1");
      await w.until(30_000);
      expect(texts(on())).toEqual(fallback === undefined ? [] : ["Sorry."]);
      expect(on().steps.at(-1)).toMatch(fallback === undefined ? /takes back b1/ : /finishes b1/);
      expect(await drafts(w)).toEqual(["shown", fallback === undefined ? "retracted" : "replaced"]);
    }
  });

  it("are taken back by whoever comes next when an operator ends the turn of a dead process", async () => {
    for (const end of ["handoff", "humanReply", "reset", "retract"] as const) {
      const { w, on } = world({ model: writes(20) });
      const one = await w.process("P1");
      const two = await w.process("P2");
      await one.hears("m1");
      await w.until(2_700);
      one.crash();
      await w.until(3_000);
      if (end === "handoff") await two.lull.handoff("c", { forMs: 60_000 });
      if (end === "humanReply") await two.lull.humanReply("c", { text: "Ada here." });
      if (end === "reset") await two.lull.reset("c");
      if (end === "retract") await two.lull.retract("c", "m1");
      await w.until(end === "retract" ? 12_000 : 4_500);
      expect([end, ...texts(on())]).toEqual([end]);
      expect(await drafts(w)).toEqual(["shown", "retracted"]);
    }
  });

  it("stay until what replaces them is delivered", async () => {
    const { w, on } = world(
      { model: writes(4), options: { deliverBackoff: { firstMs: 5_000 } } },
      {
        script: (what, nth) =>
          what === "send" && nth < 6 ? { status: "failed", error: "429", retry: true } : undefined,
      },
    );
    await (await w.process("P1")).hears("m1");
    await w.until(3_200);
    expect(texts(on())).toEqual(["1.1 1.2 (draft)"]);
    await w.until(60_000);
    expect(texts(on())).toEqual(["1.1 1.2 1.3 1.4"]);
    expect(on().bubbles[0]?.id).toBe("b1");
  });

  it("are taken back when the reply is refused for good", async () => {
    const { w, on } = world(
      { model: writes(4) },
      { script: (what) => (what === "send" ? { status: "failed", error: "too long" } : undefined) },
    );
    await (await w.process("P1")).hears("m1");
    await w.until(60_000);
    expect(texts(on())).toEqual([]);
    expect(await drafts(w)).toEqual(["shown", "retracted"]);
  });

  it("that a platform will not delete are recorded as left", async () => {
    const { w, on } = world(
      {
        async model(turn, run) {
          await writes(3)(turn, run);
          return null;
        },
        options: { limits: { deliverMaxMs: 20_000 } },
      },
      { script: (what) => (what === "delete" ? new Error("message too old") : undefined) },
    );
    await (await w.process("P1")).hears("m1");
    await w.until(120_000);
    expect(texts(on())).toEqual(["1.1 1.2 (draft)"]);
    expect(await drafts(w)).toEqual(["shown", "left"]);
    await w.verify();
  });

  it("are given up for an attempt when the platform refuses three in a row; the answer comes all the same", async () => {
    let asked = 0;
    const { w, on } = world(
      { model: writes(20) },
      {
        script(what) {
          if (what !== "draft") return undefined;
          asked += 1;
          return new Error("429");
        },
      },
    );
    await (await w.process("P1")).hears("m1");
    await w.until(60_000);
    expect(asked).toBe(3);
    expect(texts(on())).toHaveLength(1);
    expect(on().steps).toHaveLength(1);
  });

  it("end with the first part said; a channel without drafts shows none", async () => {
    const { w, on } = world({
      async model(turn, run) {
        await writes(3)(turn, run);
        await turn.say("said");
        turn.draft("too late");
        await run.think(3_000);
        return "done";
      },
    });
    await (await w.process("P1")).hears("m1");
    await w.until(30_000);
    expect(texts(on())).toEqual(["said", "done"]);
    const plain = createWorld("memory", { model: writes(6) });
    await (await plain.process("P1")).hears("m1");
    await plain.until(30_000);
    expect(plain.seen()).toEqual(["4000 1.1 1.2 1.3 1.4 1.5 1.6"]);
    expect(plain.events.filter(({ type }) => type === "draft").length).toBe(6);
  });

  it("leave nothing behind in 200 random lives", { timeout: 300_000 }, async () => {
    let shown = 0;
    for (let seed = 1; seed <= 200; seed += 1) {
      const random = dice(seed);
      const upTo = (most: number) => Math.floor(random() * most);
      const { w, on } = world(
        {
          async model(turn, run) {
            const text = await writes(1 + upTo(12))(turn, run);
            const fate = random();
            if (fate < 0.1) throw new Error("500");
            return fate < 0.2 ? null : text;
          },
          options: { limits: { maxFailures: 2 }, deliverBackoff: { firstMs: 500, maxMs: 2_000 }, scanMs: 2_000 },
        },
        {
          searchable: true,
          script: () => (random() < 0.1 ? new Error("503") : undefined),
          takes: async () => {
            if (random() < 0.3) await w.clock.sleep(upTo(1_500));
          },
        },
        seed % 10 === 0 ? "sqlite" : "memory",
      );
      let one = await w.process("P0");
      let messages = 0;
      for (let act = 0; act < 8; act += 1) {
        const what = random();
        if (messages === 0 || what < 0.5) await one.hears(`m${++messages}`);
        else if (what < 0.75) {
          one.crash();
          one = await w.process(`P${act + 1}`);
        } else if (what < 0.85) await one.lull.handoff("c", { forMs: 4_000 });
        else if (what < 0.9) await one.lull.reset("c");
        else await one.lull.humanReply("c", { text: "Ada here." });
        await w.until(w.ms + 200 + upTo(4_000));
      }
      const resting = async () => {
        const { window, lease, outbox, draft } = await w.record();
        return window === null && lease === null && outbox === null && draft == null;
      };
      for (let tries = 0; tries < 30 && !(await resting()); tries += 1) await w.until(w.ms + 10_000);
      const about = `seed ${seed}\n${on().steps.join("\n")}`;
      assert.ok(await resting(), about);
      assert.deepEqual(
        on().bubbles.filter(({ draft }) => draft),
        [],
        about,
      );
      const log = await w.log();
      const replies = log.flatMap((entry) => (entry.kind === "reply" ? entry.parts : []));
      const said = new Set(replies.map((part) => (part.type === "text" ? part.text : "")));
      for (const { text } of on().bubbles) assert.ok(said.has(text), about);
      shown += log.filter((entry) => entry.kind === "draft" && entry.state === "shown").length;
      await w.close();
    }
    expect(shown).toBeGreaterThan(200);
  });
});
