// Gate: a booking that cannot be taken back is made once, whatever becomes of the attempts around it, and whoever comes
// next is told. The model here is the worst there is: it books again in every attempt, in other words each time.
import assert from "node:assert/strict";
import { tool } from "ai";
import { aiResponder, factsOf, irreversible, onceContext, onceTools, readOnly } from "lull/ai";
import { dice } from "lull/testing";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { createWorld, type StoreKind } from "../scenarios/world.ts";
import { lines, scripted } from "./support/model.ts";

const words = ["Room 7, please", "room seven", "the room with number 7", "7"];

type Fate = "superseded" | "killed before" | "killed inside" | "killed after" | "outlives its attempt";
const fates: Fate[] = ["superseded", "killed before", "killed inside", "killed after", "outlives its attempt"];

/** One booking. The model thinks for 1 s, books (2 s), thinks for 1 s. It starts 1 s after the message. */
async function booking(seed: number, fate: Fate, kind: StoreKind) {
  const random = dice(seed);
  const within = (from: number, to: number) => from + Math.floor(random() * (to - from));
  const calls: { process: string; key: string }[] = [];
  const ends: number[] = [];
  const prompts: { atMs: number; text: string }[] = [];
  let told = false;
  const w = createWorld(kind, {
    options: { whenBusy: "interrupt" },
    model(turn, run) {
      let done = false;
      const book = irreversible(
        tool({
          inputSchema: z.object({ wish: z.string(), room: z.number() }),
          execute: async ({ room }, options): Promise<{ room: number; number: number }> => {
            const { idempotencyKey } = onceContext(options);
            calls.push({ process: run.process, key: idempotencyKey });
            const number = calls.length;
            await run.thinkDeaf(2_000);
            ends.push(w.ms);
            return { room, number };
          },
        }),
        { key: ({ room }) => `room ${room}` },
      );
      const model = scripted({
        async answer({ prompt }) {
          if (!done) prompts.push({ atMs: w.ms, text: lines(prompt).join("\n") });
          await run.think(1_000);
          if (done) return "Your room is booked.";
          done = true;
          const wish = words[Math.floor(random() * words.length)] ?? "";
          return { calls: [{ tool: "book", input: { wish, room: 7 } }] };
        },
      });
      return aiResponder({ model, tools: { book }, stream: seed % 2 === 0 })(turn) as never;
    },
  });
  const one = await w.process("P1");
  await w.process("P2", { idle: fate === "superseded" || fate === "outlives its attempt" });
  await one.hears("m1", { text: "Book room 7." });
  const kill = async (from: number, to: number) => {
    await w.until(within(from, to));
    one.crash();
  };
  if (fate === "superseded") {
    await w.until(within(1_100, 4_900));
    await one.hears("m2", { text: "Hurry." });
  } else if (fate === "killed before") await kill(1_100, 1_990);
  else if (fate === "killed inside") await kill(2_010, 3_990);
  else if (fate === "killed after") await kill(4_010, 4_990);
  else {
    // Inside the call newer input comes: the attempt ends, the call goes on.
    await w.until(within(2_010, 3_990));
    await one.hears("m2", { text: "Hurry." });
    told = true;
  }
  await w.until(60_000);
  const effects = (await w.log()).filter(({ kind: what }) => what === "effect");
  const screen = w.screen.map(({ text }) => text);
  await w.verify();
  await w.close();
  return { calls, ends, prompts, effects, screen, told };
}

describe("an irreversible tool", () => {
  // 200 seeds, 40 of each.
  for (const [at, fate] of fates.entries())
    it(`books once when its attempt is ${fate}`, { timeout: 300_000 }, async () => {
      let twice = 0;
      for (let seed = at + 1; seed <= 200; seed += fates.length) {
        const { calls, ends, prompts, effects, screen } = await booking(
          seed,
          fate,
          seed % 4 === 0 ? "sqlite" : "memory",
        );
        const about = `seed ${seed}: ${JSON.stringify({ calls, prompts, screen })}`;
        assert.equal(new Set(calls.map(({ key }) => key)).size, 1, about);
        // Only a process that died inside the call may have left it done and unrecorded; then the key is the same.
        assert.ok(calls.length <= (fate === "killed inside" ? 2 : 1), about);
        if (calls.length === 2) twice += 1;
        assert.equal(effects.length, 1, about);
        assert.deepEqual(screen, ["Your room is booked."], about);
        // Whoever comes after the call has begun is told of it.
        const [firstEnd = Number.POSITIVE_INFINITY] = ends;
        for (const { atMs, text } of prompts.slice(1)) {
          const begun = fate !== "killed before" && calls.length > 0 && atMs > 2_000;
          if (!begun) continue;
          if (atMs > firstEnd) assert.match(text, /already done[\s\S]*book\(\{/, about);
          else if (fate === "killed inside") assert.match(text, /begun, and nobody saw how it ended/, about);
        }
      }
      if (fate === "killed inside") expect(twice).toBe(40);
    });

  it("is not called again when it threw: nobody knows what happened", async () => {
    let calls = 0;
    const prompts: string[] = [];
    const w = createWorld("memory", {
      model(turn, run) {
        const pay = irreversible(
          tool({
            inputSchema: z.object({ sum: z.number() }),
            execute: async (): Promise<string> => {
              calls += 1;
              throw new Error("timed out");
            },
          }),
          { key: () => "the order" },
        );
        let asked = 0;
        const model = scripted({
          answer({ prompt }) {
            asked += 1;
            prompts.push(lines(prompt).join("\n"));
            if (asked === 1) return { calls: [{ tool: "pay", input: { sum: run.nth } }] };
            if (run.nth === 1) throw new Error("500 from the model");
            const result = prompt.at(-1)?.content[0];
            return JSON.stringify(result ?? null).includes("not known whether pay was done") ? "I will check." : "?";
          },
        });
        return aiResponder({ model, tools: { pay } })(turn) as never;
      },
    });
    const one = await w.process("P1");
    await one.hears("m1");
    await w.until(60_000);
    expect(calls).toBe(1);
    expect(prompts[2]).toContain("it is not known whether it was done (timed out)");
    expect(w.screen.map(({ text }) => text)).toEqual(["I will check."]);
    await w.close();
  });

  it("may be tried again when it says that nothing was done", async () => {
    let calls = 0;
    const w = createWorld("memory", {
      async model(turn) {
        const pay = irreversible(
          tool({
            inputSchema: z.object({}),
            execute: async (): Promise<string> => {
              calls += 1;
              if (calls === 1) throw Object.assign(new Error("card refused"), { notDone: true });
              return "paid";
            },
          }),
          { key: () => "the order" },
        );
        const { pay: once } = onceTools(turn, { pay });
        return String(await once.execute?.({}, { toolCallId: "1", messages: [] } as never));
      },
    });
    await (await w.process("P1")).hears("m1");
    await w.until(60_000);
    expect(calls).toBe(2);
    expect(w.screen.map(({ text }) => text)).toEqual(["paid"]);
    await w.close();
  });

  it("can be looked up when a crash left it in doubt", async () => {
    let [calls, looks] = [0, 0];
    const w = createWorld("memory", {
      async model(turn, run) {
        const pay = irreversible(
          tool({
            inputSchema: z.object({}),
            execute: async (): Promise<string> => {
              calls += 1;
              await run.thinkDeaf(60_000);
              return "paid";
            },
          }),
          {
            key: () => "the order",
            find: (_input, { idempotencyKey }) => {
              looks += 1;
              return `found ${idempotencyKey}`;
            },
          },
        );
        const { pay: once } = onceTools(turn, { pay });
        return String(await once.execute?.({}, { toolCallId: "1", messages: [] } as never));
      },
    });
    const one = await w.process("P1");
    await one.hears("m1");
    await w.until(5_000);
    one.crash();
    await w.process("P2");
    await w.until(60_000);
    expect([calls, looks]).toEqual([1, 1]);
    expect(w.screen.map(({ text }) => text)).toEqual(["found c:1:pay(the order)"]);
    await w.close();
  });

  it("needs a key: a type error otherwise, and an error", () => {
    const pay = tool({ inputSchema: z.object({ order: z.string() }), execute: async ({ order }) => order });
    // @ts-expect-error no key
    expect(() => irreversible(pay, {})).toThrow("needs key(input)");
    // @ts-expect-error not at all
    expect(() => irreversible(pay)).toThrow("needs key(input)");
    // @ts-expect-error a key that is no string
    irreversible(pay, { key: ({ order }) => order.length });
    irreversible(pay, {
      key(input) {
        expectTypeOf(input).toEqualTypeOf<{ order: string }>();
        return input.order;
      },
    });
    const marked = irreversible(pay, { key: ({ order }) => order });
    expectTypeOf(marked).toEqualTypeOf(pay);
    // The tool itself is not changed.
    expect(Object.getOwnPropertySymbols(pay)).toEqual([]);
  });
});

describe("other tools", () => {
  it("are told apart by arguments, in whatever order, and by how often an attempt calls them", async () => {
    const rolls: string[] = [];
    const results: unknown[] = [];
    const w = createWorld("memory", {
      async model(turn, run) {
        const roll = tool({
          inputSchema: z.object({ sides: z.number(), colour: z.string() }),
          execute: async ({ sides, colour }) => {
            rolls.push(`${colour} ${sides}`);
            return rolls.length;
          },
        });
        const { roll: once } = onceTools(turn, { roll });
        const call = (input: object) => once.execute?.(input as never, { toolCallId: "1", messages: [] } as never);
        results.push(
          await call({ sides: 6, colour: "red" }),
          await call(run.nth === 1 ? { sides: 6, colour: "red" } : { colour: "red", sides: 6 }),
          await call({ sides: 8, colour: "red" }),
        );
        if (run.nth === 1) throw new Error("500 from the model");
        return "done";
      },
    });
    await (await w.process("P1")).hears("m1");
    await w.until(60_000);
    expect(rolls).toEqual(["red 6", "red 6", "red 8"]);
    expect(results).toEqual([1, 2, 3, 1, 2, 3]);
    await w.close();
  });

  it("that only read do not wait until the user has been quiet; others do", async () => {
    const at: { look?: number; act?: number } = {};
    const w = createWorld("memory", {
      options: { debounce: { quietMs: 5_000, startMs: 1_000 } },
      async model(turn) {
        const inputSchema = z.object({});
        const look = readOnly(
          tool({
            inputSchema,
            execute: async () => {
              at.look = w.ms;
              return 1;
            },
          }),
        );
        const act = tool({
          inputSchema,
          execute: async function* () {
            yield "halfway";
            at.act = w.ms;
            yield "done";
          },
        });
        const tools = onceTools(turn, { look, act, client: tool({ inputSchema, outputSchema: z.string() }) });
        expect(tools.client.execute).toBeUndefined();
        const options = { toolCallId: "1", messages: [] } as never;
        await tools.look.execute?.({}, options);
        return String(await tools.act.execute?.({}, options));
      },
    });
    await (await w.process("P1")).hears("m1");
    await w.until(60_000);
    expect(at).toEqual({ look: 1_000, act: 5_000 });
    expect(w.screen.map(({ text }) => text)).toEqual(["done"]);
    await w.close();
  });

  it("say plainly when their context is asked for elsewhere", () => {
    expect(() => onceContext({})).toThrow("onceTools(turn, tools)");
  });
});

describe("facts", () => {
  it("tell what was done, what is in doubt, and nothing of what was only read", () => {
    expect(factsOf([])).toBeNull();
    expect(
      factsOf([
        { key: "a", state: "done", value: { tool: "look", input: {}, output: 1, readOnly: true } },
        { key: "b", state: "done", value: { tool: "book", input: { room: 7 }, output: { number: 1 } } },
        { key: "c", state: "done", value: 5 },
        { key: "d", state: "unknown" },
        { key: "e", state: "done", value: { tool: "pay", input: 1, unknown: "timed out" } },
      ])?.split("\n"),
    ).toEqual([
      "[For this request the following was already done. Do not do it again.",
      '- book({"room":7}): {"number":1}',
      "- c: 5",
      "- d: begun, and nobody saw how it ended",
      "- pay(1): it is not known whether it was done (timed out)]",
    ]);
    expect(
      factsOf([{ key: "a", state: "done", value: { tool: "look", input: {}, output: 1, readOnly: true } }]),
    ).toBeNull();
  });
});
