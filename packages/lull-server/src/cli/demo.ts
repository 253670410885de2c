/**
 * `lull demo`: one scripted person, two bots. The left one does what many do: it takes a lock while it
 * answers, with a time limit shorter than its model is slow. The right one is the real engine. Nothing is
 * staged but the texts: both run on the clock, and what is printed is what happened.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Lull, memory } from "lull";
import { hasColour, type Paint, paint } from "./terminal.ts";

/** What the person writes, and when (milliseconds from the start). */
const script: readonly { atMs: number; text: string }[] = [
  { atMs: 500, text: "hi" },
  { atMs: 1_800, text: "my order is late" },
  { atMs: 3_200, text: "it's #1234" },
  { atMs: 6_200, text: "sorry, #1243!" },
  { atMs: 12_500, text: "great" },
  { atMs: 13_800, text: "thank you" },
];
const modelMs = 2_500;
const lockMs = 1_000;
const quiet = { startMs: 2_000, quietMs: 3_000, maxWaitMs: 15_000 };

/** Stands in for a model: the same for both bots, and right about whatever it was given. */
function model(texts: readonly string[]): string {
  const all = texts.join("\n");
  if (/thank|great/.test(texts.at(-1) ?? "")) return "You're welcome!";
  if (all.includes("#1243")) return "Order #1243 comes tomorrow.";
  if (all.includes("#1234")) return "Order #1234? Delivered in May.";
  if (all.includes("late")) return "Sorry! What's the order number?";
  return "Hello! How can I help?";
}

export interface DemoOptions {
  write: (line: string) => void;
  columns: number;
  colour: boolean;
  /** 1 is real time; tests run faster. */
  speed: number;
}

export interface DemoResult {
  lock: { answers: number; outOfDate: number };
  lull: { answers: number; outOfDate: number; aborted: number };
}

export async function demo(): Promise<void> {
  await runDemo({
    write: (line) => console.log(line),
    columns: process.stdout.columns ?? 88,
    colour: hasColour(process.stdout),
    speed: 1,
  });
}

export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const colours = paint(options.colour);
  const table = new Table(options, colours);
  const result: DemoResult = { lock: { answers: 0, outOfDate: 0 }, lull: { answers: 0, outOfDate: 0, aborted: 0 } };
  table.head();

  const said: string[] = [];
  const lock = lockBot(said, options.speed, (text, covered) => {
    const isOld = said.length > covered;
    result.lock.answers += 1;
    if (isOld) result.lock.outOfDate += 1;
    table.left(isOld ? colours.red(`✗ ${text}`) : text);
  });

  const lull = new Lull({
    store: memory(),
    debounce: scaled(quiet, options.speed),
    respond: async (turn) => {
      await sleep(modelMs / options.speed, undefined, { signal: turn.signal });
      return model(turn.messages.map((message) => (message.parts[0]?.type === "text" ? message.parts[0].text : "")));
    },
    deliver: async (part) => {
      result.lull.answers += 1;
      table.right(part.type === "text" ? colours.green(part.text) : "");
      return { status: "sent" };
    },
  });
  lull.on((event) => {
    if (event.type === "attempt.superseded") {
      result.lull.aborted += 1;
      table.right(colours.dim("· wrote more: drops its answer"));
    } else if (event.entry?.kind === "attempt") {
      const count = event.entry.to - event.entry.from;
      table.right(colours.dim(`· thinks about ${count === 1 ? "1 message" : `${count} messages`}`));
    } else if (event.entry?.kind === "reply" && event.entry.overtaken) result.lull.outOfDate += 1;
  });
  await lull.start();

  for (const { atMs, text } of script) {
    await sleep(Math.max(0, atMs / options.speed - table.elapsedMs()));
    table.person(text);
    said.push(text);
    lock.hear();
    await lull.receive("demo", { id: String(said.length), text });
  }
  await lock.idle();
  await resting(lull, options.speed);
  await lull.stop();
  table.foot(result);
  return result;
}

function scaled<T extends Record<string, number>>(times: T, speed: number): T {
  return Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, Math.round(ms / speed)])) as T;
}

async function resting(lull: Lull, speed: number): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if ((await lull.get("demo"))?.state === "resting") return;
    await sleep(50 / speed);
  }
}

/** The usual way: whoever gets the lock answers what it sees; the lock runs out before the model is done. */
function lockBot(said: readonly string[], speed: number, answer: (text: string, covered: number) => void) {
  let lockedUntil = 0;
  const running: Promise<void>[] = [];
  return {
    hear() {
      if (performance.now() < lockedUntil) return;
      lockedUntil = performance.now() + lockMs / speed;
      const seen = [...said];
      running.push(sleep(modelMs / speed).then(() => answer(model(seen), seen.length)));
    },
    idle: () => Promise.all(running),
  };
}

class Table {
  readonly #options: DemoOptions;
  readonly #paint: Paint;
  readonly #startedAt = performance.now();
  readonly #width: number;
  /** Below this two columns are unreadable: lines get a name instead. */
  readonly #narrow: boolean;

  constructor(options: DemoOptions, colours: Paint) {
    this.#options = options;
    this.#paint = colours;
    this.#narrow = options.columns < 80;
    this.#width = Math.min(44, Math.floor((options.columns - 12) / 2));
  }

  elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  head(): void {
    const { bold, dim } = this.#paint;
    this.#options.write(dim("One person, two bots, the same slow model. About 20 seconds, offline."));
    this.#options.write("");
    if (this.#narrow) return;
    this.#options.write(`${" ".repeat(8)}${fill(bold("a bot with a lock"), this.#width)} │ ${bold("a bot with lull")}`);
    this.#options.write(`${"─".repeat(8 + this.#width)}─┼─${"─".repeat(this.#width)}`);
  }

  person(text: string): void {
    const { bold, cyan } = this.#paint;
    const shown = cyan(bold(`» ${text}`));
    if (this.#narrow) this.#options.write(`${this.#time()} ${shown}`);
    else this.#options.write(`${this.#time()} ${fill(shown, this.#width)} │ ${shown}`);
  }

  left(text: string): void {
    if (this.#narrow) this.#options.write(`${this.#time()} lock: ${text}`);
    else this.#options.write(`${this.#time()} ${fill(text, this.#width)} │`);
  }

  right(text: string): void {
    if (this.#narrow) this.#options.write(`${this.#time()} lull: ${text}`);
    else this.#options.write(`${this.#time()} ${" ".repeat(this.#width)} │ ${text}`);
  }

  foot({ lock, lull }: DemoResult): void {
    const { bold } = this.#paint;
    const count = (number: number, word: string) => `${number} ${word}${number === 1 ? "" : "s"}`;
    this.#options.write("");
    this.#options.write(
      `${bold("lock")}  ${count(lock.answers, "answer")}, ${lock.outOfDate} of them (✗) out of date when they were sent`,
    );
    this.#options.write(
      `${bold("lull")}  ${count(lull.answers, "answer")}, ${lull.outOfDate} of them out of date; ${count(lull.aborted, "model call")} cut short`,
    );
    this.#options.write("");
    this.#options.write("Your turn: lull serve, then open the page it names.");
  }

  #time(): string {
    const seconds = (this.elapsedMs() * this.#options.speed) / 1_000;
    return this.#paint.dim(`${seconds.toFixed(1).padStart(5)} s`);
  }
}

/** Pads to a width, not counting colour codes. */
function fill(text: string, width: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes are control characters
  const shown = text.replace(/\x1b\[\d+m/g, "").length;
  return text + " ".repeat(Math.max(0, width - shown));
}
