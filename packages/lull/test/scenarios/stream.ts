// STREAM: drafts, partial output, typing indicators.
import assert from "node:assert/strict";
import { type ScreenOptions, screen } from "../support/screen.ts";
import { between, type Scenarios, scanMs } from "./scenario.ts";
import type { Setting } from "./world.ts";

/** A platform whose messages can be edited and deleted. */
function drafted(script: NonNullable<ScreenOptions["script"]>) {
  const on = screen({ now: () => 0, script });
  const channel: NonNullable<Setting["channel"]> = {
    ...(on.channel.draft && { draft: on.channel.draft }),
    deliver: on.channel.deliver,
  };
  return { channel, on };
}

export const stream: Scenarios = {
  B140: {
    title: "a draft whose turn ends without a reply is taken back; what cannot be is recorded",
    async run(start) {
      for (const deletable of [true, false]) {
        const { channel, on } = drafted((what) => (what === "delete" && !deletable ? new Error("too old") : undefined));
        const w = start({
          async model(turn, run) {
            turn.draft("Hm");
            await run.think(1_000);
            return null;
          },
          channel,
          options: { limits: { deliverMaxMs: 5_000 } },
        });
        const one = await w.process("W1");
        await one.hears("m1");
        await w.until(1_500);
        assert.deepEqual(
          on.bubbles.map(({ text }) => text),
          ["Hm"],
        );
        await w.until(60_000);
        assert.equal(on.bubbles.length, deletable ? 0 : 1);
        const ends = (await w.log()).flatMap((entry) => (entry.kind === "draft" ? [entry.state] : []));
        assert.deepEqual(ends, ["shown", deletable ? "retracted" : "left"]);
      }
    },
  },
  B141: {
    title: "a draft stays until what replaces it was delivered, however often that is refused",
    async run(start) {
      let refusals = 3;
      const { channel, on } = drafted((what) =>
        what === "send" && refusals-- > 0 ? { status: "failed", error: "429", retry: true } : undefined,
      );
      const w = start({
        async model(turn, run) {
          turn.draft("half an");
          await run.think(3_000);
          return "half an answer";
        },
        channel,
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(4_500);
      assert.deepEqual(
        on.bubbles.map(({ text, draft }) => [text, draft]),
        [["half an", true]],
      );
      await w.until(60_000);
      assert.deepEqual(
        on.bubbles.map(({ id, text, draft }) => [id, text, draft]),
        [["b1", "half an answer", false]],
      );
      assert.ok(on.steps.every((step) => !step.includes("takes back")));
    },
  },
  B142: {
    title: "a stream that fails halfway leaves one visible message, marked as cut",
    note: "What was shown stands as the answer; nothing is sent on top of it.",
    async run(start) {
      const w = start({
        model: (_turn, run) =>
          (async function* () {
            await run.think(1_000);
            yield "first half";
            await run.think(1_000);
            throw new Error("the stream broke");
          })() as never,
        options: { fallback: "sorry" },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(30_000);
      assert.equal(w.runs.length, 1);
      assert.deepEqual(w.seen(), ["2000 first half"]);
      const closed = (await w.log()).filter((entry) => entry.kind === "closed");
      assert.deepEqual(
        closed.map(({ outcome }) => outcome),
        ["cut"],
      );
    },
  },
  B143: {
    title:
      "a message that comes after the first visible part does not cut it off: it gets its own answer, history equals screen",
    async run(start) {
      const w = start({
        async model(turn, run) {
          await run.think(1_000);
          await turn.say(`one moment, ${run.ids.join("+")}`);
          await run.think(2_000);
          return `done, ${run.ids.join("+")}`;
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(2_500);
      await one.hears("m2");
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["2000 one moment, m1", "4000 done, m1", "5000 one moment, m2", "7000 done, m2"]);
      const said = (await w.log()).flatMap((entry) =>
        entry.kind === "reply" ? entry.parts : entry.kind === "part" ? [entry.part] : [],
      );
      assert.deepEqual(
        said.map((part) => (part.type === "text" ? part.text : "")),
        w.screen.map(({ text }) => text),
      );
    },
  },
  B144: {
    title: "a process that dies in the middle of a reply: readers see it cut by the lease's expiry",
    note: "What was shown stands as the answer: the messages are not answered a second time.",
    async run(start) {
      const w = start({
        async model(turn, run) {
          await run.think(1_000);
          await turn.say("writing");
          await run.think(60_000);
          return "done";
        },
      });
      const one = await w.process("W1");
      const two = await w.process("W2");
      await one.hears("m1");
      const seen: string[] = [];
      const stop = new AbortController();
      void (async () => {
        for await (const { type, entry } of two.lull.events("c", { after: 0, signal: stop.signal }))
          if (entry?.kind === "closed") seen.push(`${type} ${entry.outcome} ${w.ms}`);
      })();
      await w.until(3_000);
      one.crash();
      await w.until(20_000);
      stop.abort();
      assert.equal(seen.length, 1);
      assert.match(seen[0] ?? "", /^reply\.closed cut /);
      between(Number(seen[0]?.split(" ")[2]), 7_000, 7_000 + scanMs + 1_000);
      assert.deepEqual(w.seen(), ["2000 writing"]);
      assert.equal(w.runs.length, 1);
    },
  },
  B145: {
    title: "the typing indicator ends with every end of a turn",
    note: "After a crash it ends with the platform's own time limit: nobody is left to end it.",
    async run(start) {
      const shown = new Map<string, [number, boolean][]>();
      const w = start({
        async model(turn, run) {
          const nth = w.runs.filter(({ conversation }) => conversation === turn.conversation).length;
          if (turn.conversation === "throws" && nth === 1) throw new Error("boom");
          await run.think(1_500);
          if (turn.conversation === "said") await turn.say("first");
          return turn.conversation === "silent" ? null : "re";
        },
        channel: {
          typing(on, { conversation }) {
            shown.set(conversation, [...(shown.get(conversation) ?? []), [w.ms, on]]);
          },
        },
      });
      const one = await w.process("W1");
      const two = await w.process("W2");
      for (const conversation of ["answered", "silent", "throws", "said", "superseded", "handed-off", "lost"])
        await one.hears("m1", { in: conversation });
      await w.until(2_000);
      await one.hears("m2", { in: "superseded" });
      await two.lull.handoff("handed-off", { forMs: 1_000 });
      await two.lull.reset("lost");
      await w.until(60_000);
      for (const [conversation, calls] of shown) {
        assert.equal(calls.length % 2, 0, `${conversation}: ${JSON.stringify(calls)}`);
        for (const [at, [, on]] of calls.entries()) assert.equal(on, at % 2 === 0, conversation);
      }
      assert.deepEqual(shown.get("answered"), [
        [1_000, true],
        [2_500, false],
      ]);
      assert.deepEqual(shown.get("superseded"), [
        [1_000, true],
        [2_000, false],
        [3_000, true],
        [4_500, false],
      ]);
      // Another process's word is heard with the next renewal.
      between(shown.get("lost")?.[1]?.[0], 2_000, 2_500);
      assert.equal(shown.size, 7);
    },
  },
};
