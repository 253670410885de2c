import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitParts, splitText, textWithoutCuts } from "../../src/channels/split.ts";
import type { Input } from "../../src/model.ts";

describe("a text that is too long", () => {
  it("is cut between paragraphs, else lines, else sentences, else words", () => {
    const a = "a".repeat(60);
    expect(splitText(`${a}\n\n${a}`, 100)).toEqual([a, a]);
    expect(splitText(`${a}\n${a}`, 100)).toEqual([a, a]);
    expect(splitText(`${a} x. ${a}`, 100)).toEqual([`${a} x.`, a]);
    expect(splitText(`${a} ${a}`, 100)).toEqual([a, a]);
  });

  it("is never cut inside a character", () => {
    for (const character of ["😀", "👩‍👩‍👧", "é"])
      for (let shift = 0; shift < 12; shift++) {
        const text = "x".repeat(shift) + character.repeat(60);
        const pieces = splitText(text, 64);
        expect(pieces.join("")).toBe(text);
        expect(pieces.every((piece) => piece.isWellFormed() && !/^[\u0301\u200d]/.test(piece))).toBe(true);
      }
  });

  it("keeps blocks of code whole: closed at the cut and opened again", () => {
    const code = ["```ts", ...Array.from({ length: 30 }, (_, at) => `  const v${at} = ${at};`), "```"].join("\n");
    const pieces = splitText(`Here:\n\n${code}\n\nDone.`, 200);
    expect(pieces.length).toBeGreaterThan(2);
    for (const piece of pieces) {
      expect(piece.length).toBeLessThanOrEqual(200);
      expect((piece.match(/^```/gm) ?? []).length % 2).toBe(0);
    }
    for (let at = 0; at < 30; at++)
      expect(pieces.filter((piece) => piece.includes(`  const v${at} = ${at};`)).length).toBe(1);
  });

  it("loses no word, in order, and fits, whatever it is", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 30 })),
        fc.integer({ min: 64, max: 200 }),
        (some, limit) => {
          const text = some.filter((word) => !/[`~]/.test(word)).join(" ");
          const pieces = splitText(text, limit);
          expect(pieces.every((piece) => piece.length <= limit && piece.trim() !== "")).toBe(true);
          expect(pieces.join("").replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
        },
      ),
    );
  });

  it("becomes parts of its own; files and short texts stay", () => {
    const file = { type: "file", mediaType: "image/png", url: "https://example.org/a.png" } as const;
    expect(splitParts(["short", file, "x".repeat(150)], 100)).toEqual([
      { type: "text", text: "short" },
      file,
      { type: "text", text: "x".repeat(92) },
      { type: "text", text: "x".repeat(58) },
    ]);
  });
});

describe("a text that an app cut", () => {
  const input = (id: string, text: string, sentAtMs: number, author = "A"): Input => ({
    id,
    version: 1,
    seq: 1,
    receivedAtMs: 0,
    edited: false,
    incomplete: false,
    parts: [{ type: "text", text }],
    author,
    sentAtMs,
  });
  const long = "x".repeat(4_096);

  it("is put together without a break, the newer message with one", () => {
    const messages = [input("1", long, 0), input("2", "tail", 15), input("3", "next", 3_000)];
    expect(textWithoutCuts(messages, 4_096)).toBe(`${long}tail\nnext`);
  });

  it("is not one of another person, nor what came later", () => {
    expect(textWithoutCuts([input("1", long, 0), input("2", "b", 15, "B")], 4_096)).toBe(`${long}\nb`);
    expect(textWithoutCuts([input("1", long, 0), input("2", "b", 9_000)], 4_096)).toBe(`${long}\nb`);
  });
});
