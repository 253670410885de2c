// The responder: what may be returned, what steering does, what is counted, and when a budget is spent.
import { generateObject, generateText, Output, streamObject, streamText, ToolLoopAgent, tool } from "ai";
import {
  type AiOptions,
  type AttemptUsage,
  aiResponder,
  type Budgets,
  type Call,
  ledgerIn,
  ledgerInMemory,
  usageOf,
} from "lull/ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { memory, type Part, type Respond, type Responded, type Turn } from "../../src/index.ts";
import { createWorld, type Setting } from "../scenarios/world.ts";
import { lines, major, type Said, scripted } from "./support/model.ts";
import { strict } from "./support/strict.ts";

const says = (answer: Said | ((nth: number) => Said)) =>
  scripted({ check: strict, answer: (_call, nth) => (typeof answer === "function" ? answer(nth) : answer) });

/** What a bot with this responder sends for one message. */
async function sent(respond: Respond, setting: Setting = {}): Promise<Part[]> {
  const parts: Part[] = [];
  const w = createWorld("memory", {
    ...setting,
    model: (turn) => respond(turn) as never,
    channel: { deliver: async (part: Part) => void parts.push(part) } as never,
  });
  await (await w.process("P1")).hears("m1", { text: "hi" });
  await w.until(60_000);
  await w.close();
  return parts;
}

describe("results of the SDK", () => {
  const schema = z.object({ name: z.string() });
  const asIs: Record<string, (turn: Turn, call: Call) => Responded | PromiseLike<Responded>> = {
    generateText: (_turn, call) => generateText(call),
    streamText: (_turn, call) => streamText(call),
    "an agent's generate": (_turn, { messages, ...agent }) => new ToolLoopAgent(agent).generate({ messages }),
    "an agent's stream": (_turn, { messages, ...agent }) => new ToolLoopAgent(agent).stream({ messages }),
  };
  for (const [name, run] of Object.entries(asIs)) {
    it(`${name} can be returned as it is`, async () => {
      expect(await sent(aiResponder({ model: says("Hello.") }, run))).toEqual([{ type: "text", text: "Hello." }]);
    });
    it(`${name} answers with its last step: what is said between tool calls is no answer`, async () => {
      const model = says((nth) =>
        nth === 1 ? { text: "Let me look.", calls: [{ tool: "look", input: {} }] } : "Found.",
      );
      const look = tool({ inputSchema: z.object({}), execute: async () => 1 });
      expect(await sent(aiResponder({ model, tools: { look } }, run))).toEqual([{ type: "text", text: "Found." }]);
    });
  }

  it("objects are data parts", async () => {
    const model = () => says('{"name":"Ada"}');
    const objects: Record<string, (turn: Turn, call: Call) => Responded | PromiseLike<Responded>> = {
      generateObject: (_turn, { model: of, messages }) => generateObject({ model: of, messages, schema }),
      streamObject: (_turn, { model: of, messages }) => streamObject({ model: of, messages, schema }),
      "generateText with an output": (_turn, call) => generateText({ ...call, output: Output.object({ schema }) }),
      "streamText with an output": (_turn, call) => streamText({ ...call, output: Output.object({ schema }) }),
    };
    for (const [name, run] of Object.entries(objects))
      expect([name, ...(await sent(aiResponder({ model: model() }, run)))]).toEqual([
        name,
        { type: "data", data: { name: "Ada" } },
      ]);
  });

  it("can be returned by a responder of one's own, without lull/ai", async () => {
    const model = says("Hello.");
    const own: Respond = (turn) => streamText({ model, prompt: turn.text, abortSignal: turn.signal });
    expect(await sent(own)).toEqual([{ type: "text", text: "Hello." }]);
    const plain: Respond = () => ({
      textStream: (async function* () {
        yield "\n\nHel";
        yield "lo.";
      })(),
    });
    expect(await sent(plain)).toEqual([{ type: "text", text: "Hello." }]);
  });

  it("a stream that broke is an error, not half an answer", async () => {
    let tries = 0;
    const model = scripted({
      answer: () => "Hello there.",
      async pause() {
        tries += 1;
        if (tries === 2) throw new Error("the connection broke");
      },
    });
    expect(await sent(aiResponder({ model }))).toEqual([{ type: "text", text: "Hello there." }]);
    expect(model.calls).toHaveLength(2);
  });

  it("a stream that ended without a word is none either", async () => {
    for (const finish of ["other", "error", ...(major === 7 ? ["interrupted"] : [])]) {
      const model = says((nth) => (nth === 1 ? { text: "Half an", finish } : "Half an answer."));
      expect(await sent(aiResponder({ model }))).toEqual([{ type: "text", text: "Half an answer." }]);
    }
    // A limit of the author's own is not the connection's fault.
    const short = scripted({ answer: () => ({ text: "Half an", finish: "length" }) });
    expect(await sent(aiResponder({ model: short }))).toEqual([{ type: "text", text: "Half an" }]);
  });
});

describe("options", () => {
  it("system, settings, tools and steps reach the model", async () => {
    const look = tool({ inputSchema: z.object({}), execute: async () => 1 });
    const model = says({ calls: [{ tool: "look", input: {} }] });
    const options: AiOptions = {
      model,
      system: (turn) => `Answer ${turn.messages.length} message.`,
      tools: { look },
      maxSteps: 2,
      stream: false,
      settings: { temperature: 0.5 },
    };
    expect(await sent(aiResponder(options), { options: { limits: { maxFailures: 1 } } })).toEqual([]);
    expect(model.calls).toHaveLength(2);
    expect(model.calls[0]?.prompt[0]).toMatchObject({ role: "system", content: "Answer 1 message." });
    expect(model.calls[0]).toMatchObject({ temperature: 0.5, tools: [{ name: "look" }] });
  });

  it("that cannot work are refused at once", () => {
    const bad = (options: unknown) => () => aiResponder(options as AiOptions);
    expect(bad({})).toThrow("needs a model");
    expect(bad({ model: says(""), maxSteps: 0 })).toThrow("maxSteps must be");
    expect(bad({ model: says(""), budget: { perConversation: { tokens: -1 } } })).toThrow(
      "budget.perConversation.tokens",
    );
    expect(bad({ model: says(""), budget: { perConversation: { tokens: 1, everyMs: 0 } } })).toThrow("everyMs");
    expect(bad({ model: says(""), budget: { perBot: { tokens: 1 } } })).toThrow("budget.perBot.ledger");
  });

  it("a model's name is looked up as the SDK does", async () => {
    const names: string[] = [];
    const provider = { languageModel: (id: string) => says(`Hello from ${names.push(id)}.`) };
    Object.assign(globalThis, { AI_SDK_DEFAULT_PROVIDER: provider });
    expect(await sent(aiResponder({ model: "acme/one" }))).toEqual([{ type: "text", text: "Hello from 1." }]);
    expect(names).toEqual(["acme/one"]);
    Object.assign(globalThis, { AI_SDK_DEFAULT_PROVIDER: undefined });
    const w = createWorld("memory", {
      model: (turn) => aiResponder({ model: "acme/one" })(turn) as never,
      options: { limits: { maxFailures: 1 } },
    });
    await (await w.process("P1")).hears("m1");
    await w.until(5_000);
    expect((await w.record()).parked?.reason).toContain("is only a name");
  });

  it("waits as long as the provider asks for", async () => {
    const w = createWorld("memory", {
      model(turn, run) {
        const model = scripted({
          answer() {
            if (run.nth > 1) return "Hello.";
            throw Object.assign(new Error("429"), { responseHeaders: { "retry-after": "7" } });
          },
        });
        return aiResponder({ model })(turn) as never;
      },
    });
    await (await w.process("P1")).hears("m1");
    await w.until(30_000);
    expect(w.thought()).toEqual(["1000-1000 m1 429", "8000-8000 m1"]);
  });
});

describe("steering", () => {
  async function steered(
    then: (
      w: ReturnType<typeof createWorld>,
      one: Awaited<ReturnType<ReturnType<typeof createWorld>["process"]>>,
    ) => Promise<void>,
  ) {
    const prompts: string[][] = [];
    const w = createWorld("memory", {
      options: { whenBusy: "steer", debounce: { quietMs: 1_000, startMs: 1_000, maxWaitMs: 60_000 } },
      model(turn, run) {
        const look = tool({ inputSchema: z.object({}), execute: async () => 1 });
        const model = scripted({
          check: strict,
          async answer({ prompt }, nth) {
            prompts.push(lines(prompt));
            await run.think(2_000);
            return nth <= 3 ? { calls: [{ tool: "look", input: {} }] } : "Done.";
          },
        });
        return aiResponder({ model, tools: { look }, steer: true, stream: run.nth % 2 === 0 })(turn) as never;
      },
    });
    const one = await w.process("P1");
    await one.hears("m1", { text: "Book a table." });
    await one.hears("m2", { text: "For two." });
    await w.until(2_000);
    await then(w, one);
    await w.until(60_000);
    const log = await w.log();
    await w.close();
    return { prompts, screen: w.screen.map(({ text }) => text), log };
  }
  const step = ["assistant: <tool-call>", "tool: <tool-result>"];

  it("hands newer messages to the model between its steps, where they came", async () => {
    const { prompts, screen, log } = await steered(async (w, one) => {
      await one.hears("m3", { text: "At eight." });
      await w.until(6_000);
      await one.hears("m4", { text: "No, nine." });
    });
    const first = "user: Book a table.\nFor two.";
    expect(prompts).toEqual([
      [first],
      [first, ...step, "user: At eight."],
      [first, ...step, "user: At eight.", ...step],
      [first, ...step, "user: At eight.", ...step, ...step, "user: No, nine."],
    ]);
    expect(screen).toEqual(["Done."]);
    expect(log.filter(({ kind }) => kind === "attempt")).toHaveLength(1);
  });

  it("changes what was edited or taken back where it stood", async () => {
    const { prompts } = await steered(async (w, one) => {
      await one.lull.edit("c", "m2", { text: "For three." });
      await w.until(4_000);
      await one.lull.retract("c", "m1");
      await w.until(6_000);
      await one.lull.edit("c", "m2", { text: "For four." });
    });
    expect(prompts.map(([first]) => first)).toEqual([
      "user: Book a table.\nFor two.",
      "user: Book a table.\nFor three.",
      "user: For three.",
      "user: For four.",
    ]);
  });
});

describe("costs", () => {
  it("are told apart by what became of the attempt, in callbacks and in the log", async () => {
    const told: AttemptUsage[] = [];
    const w = createWorld("memory", {
      model(turn, run) {
        const model = scripted({
          async answer(_call, nth) {
            if (nth === 1 && run.nth === 1)
              return { calls: [{ tool: "look", input: {} }], usage: { inputTokens: 100, outputTokens: 10 } };
            await run.think(2_000);
            if (run.nth === 2) throw new Error("500");
            return { text: "Hello.", usage: { inputTokens: 30, outputTokens: 3 } };
          },
        });
        const look = tool({ inputSchema: z.object({}), execute: async () => 1 });
        const onUsage = async (usage: AttemptUsage) => {
          told.push(usage);
          throw new Error("ignored");
        };
        return aiResponder({ model, tools: { look }, onUsage, stream: false })(turn) as never;
      },
    });
    const one = await w.process("P1");
    await one.hears("m1", { text: "hello there, how are you" });
    await w.until(1_500);
    await one.hears("m2", { text: "hm" });
    await w.until(60_000);
    expect(told.map(({ attempt, outcome, why, calls }) => [attempt, outcome, why, calls])).toEqual([
      [1, "discarded", "superseded", 2],
      [2, "discarded", "failed", 1],
      [3, "committed", "committed", 1],
    ]);
    // The second call was aborted: what was sent is estimated. The failed one cost nothing.
    expect(told[0]).toMatchObject({ outputTokens: 10 });
    expect(told[0]?.inputTokens).toBe(100 + (told[0]?.estimatedTokens ?? 0));
    expect(told[0]?.estimatedTokens).toBeGreaterThan(5);
    expect(told[1]).toMatchObject({ inputTokens: 0, outputTokens: 0 });
    const spent = usageOf(await w.log());
    expect(spent.committed).toEqual({ inputTokens: 30, outputTokens: 3, calls: 1, estimatedTokens: 0 });
    expect(spent.discarded).toMatchObject({ inputTokens: told[0]?.inputTokens, outputTokens: 10, calls: 2 });
  });

  it("of silence and of withdrawn answers, and what nobody saw the end of", () => {
    const at = { atMs: 1 };
    const usage = (seq: number, fence: number) => ({ kind: "usage" as const, fence, tokens: 7, seq, ...at });
    const attempt = (seq: number, fence: number) =>
      ({ kind: "attempt", fence, owner: "a", from: 0, to: 1, attempt: 1, sealed: false, seq, ...at }) as const;
    const reply = { replyId: "r1", from: 0, to: 1 };
    const spent = usageOf([
      attempt(1, 1),
      usage(2, 1),
      { kind: "settled", from: 0, to: 1, outcome: "silent", seq: 3, ...at },
      attempt(4, 2),
      usage(5, 2),
      {
        kind: "reply",
        ...reply,
        fence: 2,
        parts: [],
        open: false,
        overtaken: false,
        cause: "turn",
        address: null,
        seq: 6,
        ...at,
      },
      { kind: "closed", ...reply, outcome: "withdrawn", seq: 7, ...at },
      attempt(8, 3),
      usage(9, 3),
    ]);
    expect([spent.committed.outputTokens, spent.discarded.outputTokens, spent.open.outputTokens]).toEqual([7, 7, 7]);
  });
});

describe("budgets", () => {
  const day = 86_400_000;

  async function chat(budget: Budgets, messages: number, everyMs = 10_000) {
    let calls = 0;
    const w = createWorld("memory", {
      options: { limits: { repliesPerHour: 1_000 }, scanMs: 3_600_000 },
      model(turn) {
        const model = scripted({
          answer() {
            calls += 1;
            return { text: `Answer ${calls}.`, usage: { inputTokens: 40, outputTokens: 10 } };
          },
        });
        return aiResponder({ model, budget })(turn) as never;
      },
    });
    const one = await w.process("P1");
    for (let n = 1; n <= messages; n += 1) {
      await one.hears(`m${n}`, { in: n % 2 === 0 ? "even" : "odd" });
      await w.until(w.ms + everyMs);
    }
    return { calls, screen: w.screen.map(({ text }) => text), w };
  }

  it("of a conversation: exceeded by one call at most, told once, silence after; anew with the next day", async () => {
    const perConversation = { tokens: 60 };
    const { calls, screen, w } = await chat({ perConversation, whenSpent: "That is all for today." }, 8);
    // Each conversation: 50, 100 (the budget was not spent when it began), then no call.
    expect(calls).toBe(4);
    expect(screen).toEqual([
      "Answer 1.",
      "Answer 2.",
      "Answer 3.",
      "Answer 4.",
      "That is all for today.",
      "That is all for today.",
    ]);
    const settled = (await w.log("odd")).filter((entry) => entry.kind === "settled" && entry.outcome === "silent");
    expect(settled).toHaveLength(1);
    const later = await chat({ perConversation, whenSpent: "That is all." }, 6, day);
    expect(later.calls).toBe(6);
  });

  it("of a bot: all its conversations and processes, by a ledger in the store", async () => {
    const store = memory();
    const ledger = ledgerIn(store, "ledger:test");
    const perBot = { tokens: 120, ledger, everyMs: 3_650 * day };
    const { calls, screen } = await chat({ perBot, whenSpent: (_turn, which) => ({ text: `The ${which} rests.` }) }, 5);
    expect(calls).toBe(3);
    expect(screen).toEqual(["Answer 1.", "Answer 2.", "Answer 3.", "The bot rests.", "The bot rests."]);
    expect(await ledger.spend(0, 3_650 * day)).toBe(150);
    // Many at once: nothing is lost.
    const other = ledgerIn(store, "ledger:test");
    await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? ledger : other).spend(1, 3_650 * day)));
    expect(await ledger.spend(0, 3_650 * day)).toBe(170);
  });

  it("may be met with any answer, or with silence", async () => {
    const perConversation = { tokens: 0 };
    for (const [whenSpent, expected] of [
      [undefined, []],
      [() => null, []],
      [() => ["a", "b"], ["a", "b"]],
      [() => ({ type: "text" as const, text: "a" }), ["a"]],
      [() => ({ parts: ["a"], metadata: { mine: 1 } }), ["a"]],
    ] as const) {
      const budget: Budgets = {
        perConversation,
        ...(whenSpent && { whenSpent: whenSpent as Budgets["whenSpent"] & {} }),
      };
      const { calls, screen } = await chat(budget, 1);
      expect([calls, ...screen]).toEqual([0, ...expected]);
    }
  });

  it("in memory begin anew with each period", async () => {
    let now = 5 * day + 1;
    const ledger = ledgerInMemory(() => now);
    expect(await ledger.spend(5, day)).toBe(5);
    expect(await ledger.spend(5, day)).toBe(10);
    now += day;
    expect(await ledger.spend(0, day)).toBe(0);
  });
});
