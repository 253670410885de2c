/**
 * A bot's author's code: a model that thinks, fails, hangs, does not listen, and uses all of a turn's tools. Its
 * answers name what it was given, so that whoever sees one knows what it covers.
 *
 * @module
 */
import type { AttemptHandle } from "../../attempt.ts";
import { enough } from "../../clock.ts";
import { LullError } from "../../errors.ts";
import type { Clock } from "../../ports.ts";
import type { Answer, OnceContext, Respond, Turn } from "../../turn.ts";
import { textOf } from "../../turn.ts";
import { type Chance, chanceOf } from "./chance.ts";
import type { Executed, Run } from "./ledger.ts";
import type { ModelFault, Style } from "./plan.ts";
import { type Scene, take } from "./scene.ts";

/** What an attempt that has ended tells whoever comes from outside. */
const tooLate: ReadonlySet<string> = new Set(["superseded", "answered", "handed-off", "reset", "lost", "timed-out"]);

const never = () => new Promise<never>(() => {});

/** `local`: the clock of the process it runs in. */
export function botIn(scene: Scene, process: string, local: Clock): Respond {
  const { facts, plan, figures } = scene;
  return (turn) => {
    const nth = facts.runs.filter(({ conversation }) => conversation === turn.conversation).length + 1;
    const chance = chanceOf(plan.seed, turn.conversation, "run", nth);
    const fault = take(scene.waiting.model, turn.conversation);
    const style: Style = fault?.fault.startsWith("effect-") ? "once" : chance.pick(plan.profile.styles);
    const run: Run = {
      ...scene.place(turn.conversation),
      nth,
      process,
      fence: turn.fence,
      attempt: turn.attempt,
      tokens: tokensOf(turn),
      version: turn.version,
      ended: null,
      style,
      deaf: chance.is(plan.profile.deaf),
      texts: [],
    };
    facts.runs.push(run);
    figures.runs += 1;
    if (fault !== undefined) scene.count(`model ${fault.fault}`);
    scene.say(
      process,
      `${turn.conversation} run ${nth} (${style}${fault ? `, ${fault.fault}` : ""}) of ${run.tokens.join(" ")}`,
    );
    scene.strike(process, "model");
    const script = new Script(scene, run, turn, local, chance, fault);
    return style === "stream" ? script.stream() : script.answer();
  };
}

class Script {
  readonly #scene: Scene;
  readonly #run: Run;
  readonly #turn: Turn;
  readonly #local: Clock;
  readonly #chance: Chance;
  readonly #fault: { fault: ModelFault; ms: number } | undefined;
  readonly #thinkMs: number;
  readonly #deaf: boolean;

  constructor(
    scene: Scene,
    run: Run,
    turn: Turn,
    local: Clock,
    chance: Chance,
    fault: { fault: ModelFault; ms: number } | undefined,
  ) {
    const { thinkMs } = scene.plan.profile;
    this.#scene = scene;
    this.#run = run;
    this.#turn = turn;
    this.#local = local;
    this.#chance = chance;
    this.#fault = fault;
    this.#deaf = run.deaf;
    this.#thinkMs = fault?.fault === "slow" ? 5 * fault.ms : chance.lognormal({ mu: Math.log(thinkMs), sigma: 0.4 });
  }

  async answer(): Promise<Answer> {
    try {
      const answer = await this.#answer();
      this.#end(answer === null ? "silent" : "answered");
      return answer;
    } catch (error) {
      this.#end(LullError.isInstance(error) ? error.code : (error as Error).message);
      throw error;
    }
  }

  async *stream(): AsyncGenerator<string> {
    try {
      await this.#begin();
      const parts = this.#chance.whole(1, 3);
      for (let index = 0; index < parts; index += 1) {
        await this.#think(1 / parts);
        yield this.#text(index);
      }
      this.#end("answered");
    } catch (error) {
      this.#end(LullError.isInstance(error) ? error.code : (error as Error).message);
      throw error;
    } finally {
      this.#end("cut");
    }
  }

  async #answer(): Promise<Answer> {
    await this.#begin();
    const turn = this.#turn;
    switch (this.#run.style as Style) {
      case "parts": {
        await this.#think(1);
        return Array.from({ length: this.#chance.whole(2, 4) }, (_, index) => this.#text(index));
      }
      case "say": {
        await this.#think(0.5);
        await turn.say(this.#text(0));
        await this.#think(0.5);
        return this.#text(1);
      }
      case "once":
      case "read-once": {
        const readOnly = this.#run.style === "read-once";
        await this.#think(readOnly ? 0.1 : 0.5);
        const value = await turn.once("order", (context) => this.#order(context), { readOnly });
        this.#given(value);
        await this.#think(0.5);
        return this.#text(0, ` with ${value}`);
      }
      case "seal": {
        await this.#think(0.5);
        await turn.seal();
        await this.#think(0.5);
        return this.#text(0);
      }
      case "absorb": {
        await this.#think(0.5);
        await turn.absorb();
        await this.#think(0.5);
        if (this.#chance.is(0.5)) await turn.absorb();
        return this.#text(0);
      }
      case "draft": {
        await this.#think(0.5);
        turn.draft("…");
        await turn.log(5);
        await this.#think(0.5);
        return this.#text(0);
      }
      case "elsewhere":
      case "elsewhere-once":
        await this.#think(0.2);
        void this.#outside(this.#text(0));
        return turn.elsewhere();
      case "silent":
        await this.#think(1);
        return null;
      default:
        await this.#think(1);
        return this.#text(0);
    }
  }

  /** Somebody outside, who has nothing but the attempt's name, and asks whichever process there is until it is told. */
  async #outside(text: string): Promise<void> {
    const { clock } = this.#scene;
    const { ref } = this.#turn;
    await clock.sleep(Math.round(this.#thinkMs * 0.8));
    let answer = text;
    if (this.#run.style === "elsewhere-once") {
      const begun = await this.#insist("begin", (attempt) => attempt.begin("order", { waitMs: 3_000 }));
      if (begun === null) return;
      let value = begun.state === "done" ? String(begun.value) : "";
      if (begun.state === "run") {
        const { idempotencyKey, inDoubt } = begun;
        value = await this.#order({ idempotencyKey, inDoubt, signal: this.#turn.signal });
        const ended = await this.#insist("end", (attempt) => attempt.end("order", value));
        if (ended !== "recorded") return;
      }
      this.#given(value);
      answer = `${text} with ${value}`;
      this.#run.texts.push(answer);
    }
    const given = await this.#insist("reply", (attempt) => attempt.reply(answer, { waitMs: 3_000 }));
    this.#scene.say(
      "outside",
      `${ref.conversation} run ${this.#run.nth} ${given === null ? "is refused" : "has answered"}`,
    );
  }

  /** Null: it is told that it came too late. */
  async #insist<T>(what: string, call: (attempt: AttemptHandle) => Promise<T>): Promise<T | null> {
    const { clock, reach } = this.#scene;
    const { conversation, fence } = this.#turn.ref;
    for (let nth = 0; ; nth += 1) {
      const patience = new AbortController();
      try {
        const { lull } = await reach("outside", conversation, fence, what, nth);
        const late = clock.sleep(20_000, patience.signal).then(() => Promise.reject(new Error("no answer")));
        return await Promise.race([call(lull.attempt(this.#turn.ref)), late]);
      } catch (error) {
        if (LullError.isInstance(error) && tooLate.has(error.code)) return null;
        await clock.sleep(Math.min(10_000, 500 * 2 ** nth));
      } finally {
        patience.abort(enough);
      }
    }
  }

  async #begin(): Promise<void> {
    switch (this.#fault?.fault) {
      case "throws":
        throw new Error("model failed");
      case "throws-later":
        await this.#think(1);
        throw new Error("model failed");
      case "retry-after":
        throw Object.assign(new Error("model busy"), { retryAfterMs: this.#fault.ms });
      case "empty":
        // Refused by the engine: an empty answer is nearly always a mistake.
        throw new LullError("empty-answer", "nothing to say");
      case "hangs":
        await new Promise((_, reject) => {
          this.#turn.signal.addEventListener("abort", () => reject(this.#turn.signal.reason));
        });
        break;
      case "hangs-deaf":
        await never();
        break;
      default:
    }
  }

  async #think(share: number): Promise<void> {
    const ms = Math.round(this.#thinkMs * share);
    await this.#local.sleep(ms, this.#deaf ? undefined : this.#turn.signal);
    if (!this.#deaf) this.#turn.signal.throwIfAborted();
  }

  /** A service outside: it does what it is asked for each time it is asked. */
  async #order({ idempotencyKey }: OnceContext): Promise<string> {
    const { executed } = this.#scene.facts;
    const value = `v${executed.length + 1}`;
    const place = this.#scene.place(this.#run.conversation);
    const entry: Executed = {
      ...place,
      key: idempotencyKey,
      run: this.#run.nth,
      value,
      recorded: null,
      threw: false,
      hangs: false,
    };
    executed.push(entry);
    this.#scene.say(this.#run.process, `${this.#run.conversation} effect ${idempotencyKey} gives ${value}`);
    await this.#local.sleep(this.#chance.whole(0, 2_000));
    if (this.#fault?.fault === "effect-hangs") {
      entry.hangs = true;
      await never();
    }
    if (this.#fault?.fault === "effect-throws") {
      entry.threw = true;
      throw new Error("effect failed");
    }
    return value;
  }

  /** What `once` gave back is recorded: nobody may run the effect again. */
  #given(value: string): void {
    const execution = this.#scene.facts.executed.find((entry) => entry.value === value);
    if (execution !== undefined) execution.recorded ??= this.#scene.place(this.#run.conversation).order;
  }

  #text(index: number, more = ""): string {
    this.#run.tokens = tokensOf(this.#turn);
    this.#run.version = this.#turn.version;
    const text = `r${this.#run.nth}/${index} re ${this.#run.tokens.join(" ")}${more}`;
    this.#run.texts.push(text);
    return text;
  }

  #end(outcome: string): void {
    if (this.#run.ended !== null) return;
    const { atMs, order } = this.#scene.place(this.#run.conversation);
    this.#run.ended = { atMs, order, outcome };
    this.#scene.say(this.#run.process, `${this.#run.conversation} run ${this.#run.nth} ends: ${outcome}`);
  }
}

/** The first word of a message names it, and its edit. */
function tokensOf(turn: Turn): string[] {
  return turn.messages.map(({ parts }) => textOf(parts).split(" ")[0] ?? "");
}
