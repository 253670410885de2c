// Gate: in 1,000 random lives of a conversation no prompt is sent that a real API would refuse. Real engine, virtual
// time, real tool loops of the SDK; discards, aborts, crashes, edits, retractions, people who take over, failing models.
import assert from "node:assert/strict";
import { tool } from "ai";
import { aiResponder, irreversible, readOnly } from "lull/ai";
import { dice } from "lull/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Part } from "../../src/index.ts";
import { createWorld, type Process, type Run, type StoreKind } from "../scenarios/world.ts";
import { type ModelCall, type Said, scripted } from "./support/model.ts";
import { IllegalPrompt, strict } from "./support/strict.ts";

const png = `data:image/png;base64,${Buffer.from("png bytes").toString("base64")}`;

const contents: Part[][] = [
  [{ type: "text", text: "hello" }],
  [{ type: "text", text: "   " }],
  [
    { type: "text", text: "\n" },
    { type: "text", text: "two parts" },
  ],
  [{ type: "data", data: { sticker: 7 } }],
  [{ type: "file", mediaType: "image/png", url: png, filename: "cat.png" }],
  [
    { type: "file", mediaType: "image/jpeg", url: "https://files.example/a.jpg" },
    { type: "text", text: "look" },
  ],
  [{ type: "file", mediaType: "application/zip", url: "https://files.example/a.zip" }],
  [{ type: "file", mediaType: "image/png", ref: { id: 3 } }],
  [{ type: "text", text: "half a \ud83d surrogate" }],
  [{ type: "text", text: "trailing   " }],
];

/** One life. Returns how many prompts were sent, and what was refused. */
async function live(seed: number, kind: StoreKind): Promise<{ prompts: number; refused: string[]; ended: string[] }> {
  const random = dice(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const upTo = (most: number) => Math.floor(random() * most);
  const refused: string[] = [];
  let prompts = 0;
  const whenBusy = pick(["interrupt", "interrupt", "queue", "steer"] as const);
  const messages = {
    history: pick([0, 3, 50]),
    authors: random() < 0.3,
    times: random() < 0.3,
    files: pick(["turn", "all", "none"] as const),
    ...(random() < 0.3 && { data: () => null }),
  };
  const tools = {
    look: readOnly(tool({ inputSchema: z.object({ at: z.string() }), execute: async ({ at }) => `saw ${at}` })),
    note: tool({ inputSchema: z.object({ text: z.string() }), execute: async () => undefined }),
    book: irreversible(
      tool({
        inputSchema: z.object({ room: z.number() }),
        execute: async ({ room }): Promise<{ booked: number }> => {
          if (room === 3) throw new Error("the hotel did not answer");
          return { booked: room };
        },
      }),
      { key: ({ room }) => `room ${room}` },
    ),
  };
  const w = createWorld(kind, {
    options: { whenBusy, limits: { maxFailures: 50 }, scanMs: 5_000 },
    model: (turn, run: Run) => {
      const model = scripted({
        check(call: ModelCall) {
          prompts += 1;
          try {
            strict(call);
          } catch (error) {
            if (error instanceof IllegalPrompt) refused.push(error.message);
            throw error;
          }
        },
        async answer(): Promise<Said> {
          await run.think(pick([0, 500, 2_000, 4_000]));
          const fate = random();
          if (fate < 0.1) throw new Error("503 from the model");
          if (fate < 0.4)
            return {
              ...(random() < 0.5 && { text: "One moment." }),
              calls: Array.from({ length: 1 + upTo(2) }, () =>
                pick([
                  { tool: "look", input: { at: pick(["a", "b"]) } },
                  { tool: "note", input: { text: "x" } },
                  { tool: "book", input: { room: 1 + upTo(3) } },
                  { tool: "no-such-tool", input: {} },
                  { tool: "look", input: { wrong: true } },
                ]),
              ),
            };
          return `answer ${run.nth}  `;
        },
        async pause() {
          if (random() < 0.1) await run.think(300);
        },
      });
      const respond = aiResponder({ model, tools, messages, stream: seed % 2 === 0, steer: whenBusy === "steer" });
      return respond(turn) as never;
    },
    channel: {
      script: () =>
        random() < 0.15 ? { shown: false, receipt: { status: "failed", error: "429", retry: true } } : undefined,
    },
  });
  let [n, names] = [0, 0];
  let one: Process = await w.process("P0");
  const told: string[] = [];
  for (let act = 0; act < 12; act += 1) {
    await w.until(w.ms + pick([0, 200, 700, 1_500, 4_000, 9_000]));
    const what = random();
    if (what < 0.55 || n === 0) {
      const extra = random() < 0.5 ? { author: pick(["Ada", "Bob"]) } : {};
      const parts = pick(contents);
      if (JSON.stringify(parts).includes("\\ud83d")) await one.hears(`m${++n}`, { text: "half a \ud83d surrogate" });
      else await one.hears(`m${++n}`, { parts, ...extra });
      told.push(`m${n}`);
    } else if (what < 0.65) await one.lull.edit("c", pick(told), { parts: pick(contents.slice(0, 6)) });
    else if (what < 0.75) await one.lull.retract("c", pick(told));
    else if (what < 0.8) await one.lull.humanReply("c", { text: "Ada here.", author: "Ada" });
    else if (what < 0.84) await one.lull.handoff("c", { forMs: 3_000 });
    else if (what < 0.88) await one.lull.send("c", { text: "By the way." });
    else if (what < 0.91) await one.lull.reset("c");
    else {
      one.crash();
      one = await w.process(`P${++names}`);
    }
  }
  const resting = async () => (await w.record()).window === null && (await w.record()).outbox === null;
  for (let tries = 0; tries < 30 && !(await resting()); tries += 1) await w.until(w.ms + 10_000);
  const ended = (await w.log()).flatMap((entry) => (entry.kind === "ended" ? [entry.outcome] : []));
  const { window, lease, outbox, parked } = await w.record();
  assert.deepEqual({ window, lease, outbox, parked }, { window: null, lease: null, outbox: null, parked: null });
  await w.close();
  return { prompts, refused, ended };
}

describe("prompts are legal", () => {
  const seeds = 1_000;
  const chunk = 100;
  for (let from = 1; from <= seeds; from += chunk)
    it(`in the lives ${from} to ${from + chunk - 1}`, { timeout: 300_000 }, async () => {
      let prompts = 0;
      const ended: Record<string, number> = {};
      for (let seed = from; seed < from + chunk; seed += 1) {
        const life = await live(seed, seed % 10 === 0 ? "sqlite" : "memory");
        assert.deepEqual(life.refused, [], `seed ${seed}`);
        prompts += life.prompts;
        for (const outcome of life.ended) ended[outcome] = (ended[outcome] ?? 0) + 1;
      }
      // The lives are eventful: what the gate is about happens in them.
      expect(prompts).toBeGreaterThan(4 * chunk);
      for (const outcome of ["superseded", "failed", "expired", "handed-off", "answered-by-human", "reset"])
        expect(ended[outcome] ?? 0, outcome).toBeGreaterThan(0);
    });
});
