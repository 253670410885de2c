/**
 * Types for somebody who would rather watch: three short messages, letter by letter, with the pauses people make.
 *
 * @module
 */

export const lines = ["hi", "my order is late", "it is number 1234"];

/** Milliseconds. */
const pace = { letter: 55, beforeSending: 180, betweenMessages: 1_500 };

export interface Typist {
  /** What stands in the input. */
  show(text: string): void;
  /** A letter was typed. */
  typed(): void;
  send(text: string): void;
}

/**
 * Resolves when all is typed, or `signal` aborted.
 * @param gently Whole messages instead of letters, for people who asked for less motion.
 */
export async function play(typist: Typist, signal: AbortSignal, gently = false): Promise<void> {
  for (const [index, line] of lines.entries()) {
    // Longer than the pause after which the model starts: the attempt that is discarded can be seen.
    if (index > 0) await pause(pace.betweenMessages, signal);
    const letters = [...line];
    for (let count = gently ? letters.length : 1; count <= letters.length && !signal.aborted; count += 1) {
      typist.show(letters.slice(0, count).join(""));
      typist.typed();
      await pause(gently ? pace.letter * letters.length : pace.letter, signal);
    }
    await pause(pace.beforeSending, signal);
    if (signal.aborted) break;
    typist.show("");
    typist.send(line);
  }
  if (signal.aborted) typist.show("");
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}
