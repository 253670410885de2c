// What lull is for: several quick messages, one answer.
import { expect, it } from "vitest";
import { bot, textOf } from "../support/bot.ts";

it("a burst is answered once, with everything, when the user has been quiet", async () => {
  const { clock, lull, turns, sent } = bot();
  await lull.start();
  for (const text of ["hi", "my order is late", "#1234"]) {
    await lull.receive("c", { text });
    await clock.advance(500);
  }
  await clock.advance(20_000);
  expect(turns).toHaveLength(1);
  // Last message at 1,000; quiet target 6,000.
  expect(sent.map(({ text, atMs }) => [text, atMs])).toEqual([["answer to: hi | my order is late | #1234", 7_000]]);
  await lull.stop();
});

it("a message during generation discards the answer, which starts over with everything", async () => {
  const { clock, lull, turns, texts, types, hear } = bot({}, { modelMs: 4_000 });
  await lull.start();
  await hear("a");
  await clock.advance(3_000);
  await hear("b");
  await clock.advance(30_000);
  expect(turns.map(textOf)).toEqual(["a", "a | b"]);
  expect(turns[0]?.signal.aborted).toBe(true);
  expect(texts()).toEqual(["answer to: a | b"]);
  expect(types()).toContain("attempt.superseded");
  await lull.stop();
});

it("conversations never wait for each other", async () => {
  const { clock, lull, sent } = bot({
    respond: (turn) => (turn.conversation === "stuck" ? new Promise<never>(() => {}) : textOf(turn)),
  });
  await lull.start();
  await lull.receive("stuck", { text: "x" });
  for (let n = 0; n < 20; n += 1) await lull.receive(`c${n}`, { text: `${n}` });
  await clock.advance(10_000);
  expect(sent).toHaveLength(20);
  expect(sent.every(({ atMs }) => atMs === 6_000)).toBe(true);
  const stopped = lull.stop({ timeoutMs: 0 });
  await clock.advance(5_000);
  await stopped;
});

it("a turn that becomes due right after a delivery begins at its exact time", async () => {
  const { clock, lull, turns, hear, elapsed } = bot(
    {
      debounce: { quietMs: 1_000, startMs: 1_000 },
      whenBusy: "queue",
      respond: () => clock.sleep(2_000).then(() => "x"),
    },
    {},
  );
  const began: number[] = [];
  lull.on(({ type }) => type === "attempt.started" && began.push(elapsed()));
  await lull.start();
  await hear("a");
  // Due at 3,020, twenty milliseconds after the answer before it is out.
  await clock.advance(2_020);
  await hear("b");
  await clock.advance(10_000);
  expect(turns.map(textOf)).toEqual(["a", "b"]);
  expect(began).toEqual([1_000, 3_020]);
  await lull.stop();
});
