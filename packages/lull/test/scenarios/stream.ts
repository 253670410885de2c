// STREAM: drafts, partial output, typing indicators.
import assert from "node:assert/strict";
import { between, type Scenarios, scanMs } from "./scenario.ts";

export const stream: Scenarios = {
  B140: { later: "streaming to channels: taking a draft back when the turn ends without a reply" },
  B141: { later: "streaming to channels: a draft stays until what replaces it was delivered" },
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
