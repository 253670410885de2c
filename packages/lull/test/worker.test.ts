// What the explorer found in the worker. The explorer walks the rest.
import { expect, it } from "vitest";
import { decide, idle, step } from "../src/worker.ts";
import { limits, text, World } from "./protocol/world.ts";

it("settles the part on its way when somebody takes over while more is being said", () => {
  const w = new World();
  w.say("hi", { quietMs: 0 });
  const worker = idle(limits, false);
  step(worker, { type: "wake" });
  decide(worker, w.now);
  const claimed = w.toWake().claim("w", { claimId: "c" });
  step(worker, { type: "exchanged", command: { do: "claim" }, outcome: claimed, record: w.r, claimId: "c" });
  expect(decide(worker, w.now)?.do).toBe("respond");
  step(worker, { type: "said", part: text("one") });
  const first = decide(worker, w.now);
  if (first?.do !== "commit") throw new Error(`${first?.do}`);
  const committed = w.commit(claimed.held, ["one"], { open: true });
  step(worker, { type: "exchanged", command: first, outcome: committed, record: w.r });
  expect(decide(worker, w.now)?.do).toBe("send");

  w.handoff();
  step(worker, { type: "said", part: text("two") });
  const more = decide(worker, w.now);
  if (more?.do !== "append") throw new Error(`${more?.do}`);
  const part = { replyId: "reply", index: 1, part: text("two"), ...claimed.held };
  step(worker, { type: "exchanged", command: more, outcome: w.do("append", part), record: w.r });
  step(worker, { type: "sent", receipt: { state: "sent" } });
  expect(decide(worker, w.now)).toMatchObject({ do: "settle", index: 0, receipt: { state: "sent" } });
});

it("looks no further once its reply has left the conversation at rest", () => {
  const w = new World();
  w.say("hi", { quietMs: 0 });
  const worker = idle(limits, false);
  step(worker, { type: "wake" });
  decide(worker, w.now);
  const claimed = w.toWake().claim("w", { claimId: "c" });
  step(worker, { type: "exchanged", command: { do: "claim" }, outcome: claimed, record: w.r, claimId: "c" });
  decide(worker, w.now);
  step(worker, { type: "answered", parts: null });
  const commit = decide(worker, w.now);
  if (commit?.do !== "commit") throw new Error(`${commit?.do}`);
  const committed = w.commit(claimed.held, null);
  step(worker, { type: "exchanged", command: commit, outcome: committed, record: w.r });
  // A claim here would cost two reads a turn, to be told "nothing".
  expect(decide(worker, w.now)).toBe(null);
});
