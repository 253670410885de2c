import { describe, expect, it } from "vitest";
import type { ChatEvent, Logged } from "../../../src/widget/events.ts";
import { createTalk, type Line } from "../../../src/widget/talk.ts";

const at = (seq: number) => new Date(seq * 1_000).toISOString();
const message = (seq: number, id: string, text = id): Logged => ({ type: "message", seq, at: at(seq), id, text });
const edited = (seq: number, id: string, text: string): Logged => ({ type: "edited", seq, at: at(seq), id, text });
const part = (seq: number, id: string, text: string, edits?: string): Logged => ({
  type: "part",
  seq,
  at: at(seq),
  id,
  by: "bot",
  part: { type: "text", text },
  ...(edits === undefined ? {} : { edits }),
});
const done = (seq: number, outcome: "answered" | "failed" = "answered"): Logged => ({
  type: "done",
  seq,
  at: at(seq),
  replyId: "r",
  outcome,
});
const page = (events: Logged[], next: number | null = null, seq = events.at(-1)?.seq ?? 0) => ({
  events,
  next,
  seq,
  state: "resting" as const,
});
const texts = (lines: Line[]) =>
  lines.map((line) => (line.from === "visitor" ? line.text : line.part.type === "text" ? line.part.text : ""));
const unsent = (id: string, atMs: number, more: object = {}) => ({ id, text: id, at: atMs, ...more });

describe("history and events", () => {
  const all = [
    message(1, "a"),
    message(2, "b"),
    part(5, "r:0", "one"),
    part(6, "r:1", "two"),
    done(7),
    message(8, "c"),
    edited(9, "b", "b, edited"),
    part(12, "q:0", "one, amended", "r:0"),
    { type: "retracted", seq: 13, at: at(13), id: "c" } as Logged,
  ];
  const wanted = ["a", "b, edited", "one, amended", "two"];

  it("make the same of the same log, whether it came as events, as pages, or as both, however often", () => {
    const told = createTalk();
    for (const event of all) told.take(event);
    expect(texts(told.lines())).toEqual(wanted);

    // Every way of cutting the log in two pages and a stream that repeats some of it.
    for (let cut = 0; cut <= all.length; cut++)
      for (let again = 0; again <= cut; again++) {
        const talk = createTalk();
        talk.takePage(page(all.slice(cut), cut === 0 ? null : (all[cut]?.seq ?? 14), 13));
        talk.takePage(page(all.slice(0, cut)));
        for (const event of all.slice(again)) talk.take(event);
        expect(texts(talk.lines()), `${cut}, ${again}`).toEqual(wanted);
        expect(talk.seq).toBe(13);
      }
  });

  it("come in any order", () => {
    for (let shuffle = 0; shuffle < 50; shuffle++) {
      const talk = createTalk();
      // A fixed series of shuffles.
      const mixed = all
        .map((event, index) => ({ event, order: Math.sin((shuffle + 1) * (index + 1) * 7919) }))
        .sort((a, b) => a.order - b.order);
      for (const { event } of mixed) talk.take(event);
      expect(texts(talk.lines())).toEqual(wanted);
    }
  });

  it("of kinds that are not known yet move on, and show nothing", () => {
    const talk = createTalk();
    talk.take({ type: "reaction", seq: 4, at: at(4) } as unknown as ChatEvent);
    expect([talk.seq, talk.lines()]).toEqual([4, []]);
  });

  it("are forgotten when the conversation was erased; what waits here is not", () => {
    const talk = createTalk();
    talk.take(message(1, "a"));
    talk.takeUnsent([unsent("b", 9)]);
    talk.take({ type: "cleared" });
    expect([talk.seq, texts(talk.lines())]).toEqual([0, ["b"]]);
  });
});

describe("what is written here", () => {
  it("is queued, sent and then in the log: one line all the time", () => {
    const talk = createTalk();
    const look = () => talk.lines().map((line) => [line.key, line.from === "visitor" && line.progress]);
    talk.takeUnsent([unsent("a", 1), unsent("b", 2)]);
    expect(look()).toEqual([
      ["m:a", "queued"],
      ["m:b", "queued"],
    ]);
    // Handed in, and not in the stream yet.
    talk.takeUnsent([unsent("b", 2)]);
    expect(look()).toEqual([
      ["m:a", "sent"],
      ["m:b", "queued"],
    ]);
    talk.take(message(1, "a"));
    talk.take(message(2, "b"));
    // The stream was faster than the answer to the request.
    talk.takeUnsent([unsent("b", 2)]);
    expect(look()).toEqual([
      ["m:a", "sent"],
      ["m:b", "sent"],
    ]);
    talk.takeUnsent([]);
    expect(look()).toHaveLength(2);
  });

  it("stays visible when it is refused, and goes when it is discarded", () => {
    const talk = createTalk();
    talk.takeUnsent([unsent("a", 1, { refused: "too-large" })]);
    expect(talk.lines()).toMatchObject([{ progress: "refused" }]);
    talk.forget("a");
    talk.takeUnsent([]);
    expect(talk.lines()).toEqual([]);
  });
});

describe("drafts", () => {
  it("are replaced by the part, or taken back", () => {
    const talk = createTalk();
    talk.take({ type: "draft", text: "an ans" });
    expect([talk.draft, talk.takenBack]).toEqual(["an ans", false]);
    talk.take({ type: "draft", text: null });
    expect([talk.draft, talk.takenBack]).toEqual([null, true]);
    talk.take({ type: "draft", text: "another" });
    expect([talk.draft, talk.takenBack]).toEqual(["another", false]);
    talk.take(part(3, "r:0", "another answer"));
    expect([talk.draft, talk.takenBack]).toEqual([null, false]);
    expect(texts(talk.lines())).toEqual(["another answer"]);
  });

  it("that a new stream does not know are gone", () => {
    const talk = createTalk();
    talk.take({ type: "draft", text: "an ans" });
    talk.take({ type: "draft", text: null });
    talk.take({ type: "draft", text: null });
    expect([talk.draft, talk.takenBack]).toEqual([null, true]);
    talk.take(done(4));
    expect(talk.takenBack).toBe(false);
  });
});

it("says that an answer was given up, until something is written", () => {
  const talk = createTalk();
  talk.take(message(1, "a"));
  talk.take(done(5, "failed"));
  expect(talk.failed).toBe(true);
  talk.take(message(6, "b"));
  expect(talk.failed).toBe(false);
});
