// Whatever memory a framework keeps: a discarded answer is in no later prompt. The recipes of docs/ai-sdk.md.
import { branch, lastAnswer, lastAnswerIn } from "lull/ai";
import { dice } from "lull/testing";
import { describe, expect, it } from "vitest";
import type { Answer, Turn } from "../../src/index.ts";
import { createWorld, type Run } from "../scenarios/world.ts";

type Model = (turn: Turn, run: Run) => Promise<Answer>;

const gaps = [500, 1_500, 3_000, 8_000];

/** Lives with interruptions, failures and crashes. `prompts` are what the framework had in memory when the model ran. */
async function lives(seeds: number, make: (prompts: string[][]) => Model): Promise<void> {
  let discarded = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    const random = dice(seed);
    const prompts: string[][] = [];
    const model = make(prompts);
    const w = createWorld("memory", {
      async model(turn, run) {
        const answer = await model(turn, run);
        if (random() < 0.15) throw new Error("the framework failed after it had saved");
        return answer;
      },
      options: { limits: { maxFailures: 20 }, scanMs: 2_000 },
    });
    let one = await w.process("P0");
    for (let n = 1; n <= 8; n += 1) {
      await one.hears(`m${n}`);
      await w.until(w.ms + (gaps[Math.floor(random() * gaps.length)] ?? 0));
      if (random() < 0.2) {
        one.crash();
        one = await w.process(`P${n}`);
      }
    }
    await w.until(w.ms + 120_000);
    const committed = (await w.log()).flatMap((entry) =>
      entry.kind === "reply" ? entry.parts.map((part) => (part.type === "text" ? part.text : "")) : [],
    );
    for (const prompt of prompts)
      for (const line of prompt)
        if (line.startsWith("bot: ")) expect(committed, `seed ${seed}`).toContain(line.slice(5));
    // Each prompt has every answer that was committed before it, once and in order.
    const last = prompts.at(-1)?.filter((line) => line.startsWith("bot: ")) ?? [];
    expect(last, `seed ${seed}`).toEqual(committed.slice(0, last.length).map((text) => `bot: ${text}`));
    expect(last.length).toBeGreaterThanOrEqual(committed.length - 1);
    discarded += (await w.log()).filter(({ kind }) => kind === "ended").length;
    await w.close();
  }
  expect(discarded).toBeGreaterThan(seeds);
}

const think = async (run: Run) => {
  await run.think(1_000);
  return `answer ${run.nth} to ${run.ids.join("+")}`;
};

describe("a memory that saves during the run", () => {
  it("is a thread of each attempt's own, branched from the last committed one", { timeout: 120_000 }, async () => {
    await lives(40, (prompts) => {
      const threads = new Map<string, string[]>();
      return async (turn, run) => {
        const { from, to } = await branch(turn);
        const thread = [...(threads.get(from ?? "") ?? []), ...turn.messages.map(({ id }) => `user: ${id}`)];
        threads.set(to, thread);
        prompts.push([...thread]);
        // The framework saves as soon as it has the text, long before anybody knows whether it is sent.
        const answer = await think(run);
        thread.push(`bot: ${answer}`);
        await run.think(500);
        return answer;
      };
    });
  });

  it("is the provider's own conversation, whose name travels with the answer", { timeout: 120_000 }, async () => {
    await lives(40, (prompts) => {
      const responses = new Map<string, string[]>();
      return async (turn, run) => {
        const last = await lastAnswer(turn);
        const previous = responses.get(String(last?.metadata.responseId)) ?? [];
        const conversation = [...previous, ...turn.messages.map(({ id }) => `user: ${id}`)];
        prompts.push([...conversation]);
        const text = await think(run);
        const responseId = `resp_${responses.size + 1}`;
        responses.set(responseId, [...conversation, `bot: ${text}`]);
        return { text, metadata: { responseId } };
      };
    });
  });

  it("is saved to only once the answer is certain, where a framework can wait", { timeout: 120_000 }, async () => {
    await lives(40, (prompts) => {
      const memory: string[] = [];
      return async (turn, run) => {
        const said = turn.messages.map(({ id }) => `user: ${id}`);
        // A crash between commit and save is made good from the log.
        const log = await turn.log(1_000);
        const known = log.flatMap((entry) =>
          entry.kind === "reply" ? entry.parts.map((part) => (part.type === "text" ? `bot: ${part.text}` : "")) : [],
        );
        for (const line of known) if (!memory.includes(line)) memory.push(line);
        prompts.push([...memory, ...said]);
        const text = await think(run);
        void turn.ended.then(
          (why) => why === "committed" && !memory.includes(`bot: ${text}`) && memory.push(...said, `bot: ${text}`),
        );
        return text;
      };
    });
  });
});

describe("the last answer", () => {
  const reply = (replyId: string, fence: number, cause = "turn") =>
    ({
      kind: "reply",
      replyId,
      fence,
      from: 0,
      to: 1,
      parts: [],
      open: false,
      overtaken: false,
      cause,
      address: null,
    }) as const;
  const log = (...bodies: object[]) => bodies.map((body, at) => ({ seq: at + 1, atMs: 0, ...body })) as never;

  it("is the last committed one that was not withdrawn, since the last reset", () => {
    expect(lastAnswerIn([])).toBeNull();
    expect(lastAnswerIn(log(reply("r1", 1), reply("r2", 2)))).toEqual({
      replyId: "r2",
      fence: 2,
      metadata: {},
      isLatest: true,
    });
    const withdrawn = { kind: "closed", replyId: "r2", from: 0, to: 1, outcome: "withdrawn" };
    expect(lastAnswerIn(log(reply("r1", 1), reply("r2", 2), withdrawn))?.replyId).toBe("r1");
    const reset = { kind: "reset", id: "x", forget: true };
    expect(lastAnswerIn(log(reply("r1", 1), reset))).toBeNull();
    expect(lastAnswerIn(log(reply("r1", 1), { ...reset, forget: false }))?.replyId).toBe("r1");
  });

  it("says whether somebody else has spoken since", () => {
    for (const other of [{ kind: "human", id: "h", upTo: 1, parts: [] }, { kind: "send" }, reply("f", 2, "fallback")])
      expect(lastAnswerIn(log(reply("r1", 1), other))).toMatchObject({ replyId: "r1", isLatest: false });
  });
});
