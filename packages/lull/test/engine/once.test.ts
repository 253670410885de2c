// Effects: what a turn does to the world besides answering, done once.
import { describe, expect, it } from "vitest";
import { type EffectView, LullError, memory, type OnceContext, type Turn } from "../../src/index.ts";
import { bot, textOf } from "../support/bot.ts";
import { withoutHints } from "../support/stores.ts";
import { virtualClock } from "../support/virtual.ts";

describe("once", () => {
  it("runs over all attempts of a turn, and serves the recorded result to later ones", async () => {
    const ran: OnceContext[] = [];
    const { clock, lull, sent, hear, events } = bot({
      respond: async (turn) => {
        const order = await turn.once("order", (context) => {
          ran.push(context);
          return { id: 7, at: null };
        });
        if (turn.attempt < 3) throw new Error("boom");
        return `order ${order.id}`;
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(60_000);
    expect(sent.map(({ text }) => text)).toEqual(["order 7"]);
    expect(ran).toHaveLength(1);
    expect(ran[0]).toMatchObject({ inDoubt: false, idempotencyKey: expect.stringMatching(/^c:\d+:order$/) });
    expect(events.filter(({ type }) => type === "effect.recorded")).toHaveLength(1);
    await lull.stop();
  });

  it("runs again in the next turn", async () => {
    const keys: string[] = [];
    const { clock, lull, hear } = bot({
      respond: async (turn) => {
        await turn.once("order", ({ idempotencyKey }) => void keys.push(idempotencyKey));
        return "done";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    await hear("b");
    await clock.advance(20_000);
    expect(new Set(keys).size).toBe(2);
    await lull.stop();
  });

  it("waits for the quiet target, unless it only reads", async () => {
    const at: [string, number][] = [];
    const { clock, lull, hear, elapsed } = bot({
      respond: async (turn) => {
        await turn.once("look", () => void at.push(["look", elapsed()]), { readOnly: true });
        await turn.once("pay", () => void at.push(["pay", elapsed()]));
        return "done";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    expect(at).toEqual([
      ["look", 1_000],
      ["pay", 6_000],
    ]);
    await lull.stop();
  });

  it("does not run for an attempt that newer input made stale", async () => {
    const paid: string[] = [];
    const { clock, lull, hear, sent } = bot({
      respond: async (turn) => {
        await turn.once("pay", () => void paid.push(textOf(turn)));
        return textOf(turn);
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    await hear("no, b");
    await clock.advance(20_000);
    expect(paid).toEqual(["a | no, b"]);
    expect(sent.map(({ text }) => text)).toEqual(["a | no, b"]);
    await lull.stop();
  });

  it("tells the next attempt what a superseded one did", async () => {
    const seen: (readonly EffectView[])[] = [];
    const { clock, lull, hear } = bot({
      respond: async (turn) => {
        seen.push(turn.effects);
        await turn.once("look", () => ({ stock: 3 }), { readOnly: true });
        await clock.sleep(4_000, turn.signal);
        return "done";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    await hear("b");
    await clock.advance(60_000);
    expect(seen).toEqual([[], [{ key: "look", state: "done", value: { stock: 3 } }]]);
    await lull.stop();
  });

  it("runs one function for concurrent calls with one key", async () => {
    let ran = 0;
    const { clock, lull, sent, hear } = bot({
      respond: async (turn) => {
        const add = () => turn.once("add", () => ++ran, { readOnly: true });
        return (await Promise.all([add(), add(), add()])).join();
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    expect(sent.map(({ text }) => text)).toEqual(["1,1,1"]);
    await lull.stop();
  });

  it("gives the first caller what later ones will get", async () => {
    const got: unknown[] = [];
    const { clock, lull, hear } = bot({
      respond: async (turn) => {
        got.push(await turn.once("date", () => ({ at: new Date(0) }) as never));
        got.push(await turn.once("nothing", () => undefined));
        if (turn.attempt === 1) throw new Error("boom");
        return "done";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(60_000);
    expect(got).toEqual([{ at: "1970-01-01T00:00:00.000Z" }, null, { at: "1970-01-01T00:00:00.000Z" }, null]);
    await lull.stop();
  });

  it("runs again when its function threw", async () => {
    let ran = 0;
    const errors: string[] = [];
    const { clock, lull, sent, hear } = bot({
      respond: async (turn) => {
        const pay = () =>
          turn.once("pay", () => {
            if (++ran < 3) throw new Error(`no ${ran}`);
            return ran;
          });
        // Within the attempt, and in the next one.
        const value = await pay().catch((error: Error) => {
          errors.push(error.message);
          return pay();
        });
        return `paid ${value}`;
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(60_000);
    expect(sent.map(({ text }) => text)).toEqual(["paid 3"]);
    expect(errors).toEqual(["no 1"]);
    await lull.stop();
  });

  it("leaves in doubt what it could not record: the function did run", async () => {
    for (const [value, code] of [
      ["x".repeat(300), "effect-too-large"],
      [() => 1, "invalid-argument"],
      [1n, "invalid-argument"],
    ] as const) {
      const runs: boolean[] = [];
      const errors: unknown[] = [];
      const { clock, lull, hear } = bot({
        limits: { maxEffectBytes: 200, maxFailures: 2 },
        respond: async (turn) => {
          const call = turn.once("big", ({ inDoubt }) => {
            runs.push(inDoubt);
            return value as never;
          });
          await call.catch((error: unknown) => {
            errors.push(error);
            throw error;
          });
          return "never";
        },
      });
      await lull.start();
      await hear("a");
      await clock.advance(120_000);
      expect(errors.map((error) => LullError.isInstance(error) && error.code)).toEqual([code, code]);
      expect(runs).toEqual([false, true]);
      await lull.stop();
    }
  });

  it("takes any non-empty text as its key", async () => {
    const results: unknown[] = [];
    const { clock, lull, hear } = bot({
      limits: { maxEffects: 3 },
      respond: async (turn) => {
        const tryKey = async (key: string) => {
          try {
            return await turn.once(key, () => key, { readOnly: true });
          } catch (error) {
            return (error as LullError).code;
          }
        };
        for (const key of ["", 5 as never, "\ud800", "constructor", "toString", "größe 🦉", "one too many"])
          results.push(await tryKey(key));
        return "done";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    const wrong = "invalid-argument";
    expect(results).toEqual([wrong, wrong, wrong, "constructor", "toString", "größe 🦉", "effects-full"]);
    await lull.stop();
  });

  it("that outlives its attempt delays the next one, which gets its result", async () => {
    const attempts: [number, readonly EffectView[], unknown][] = [];
    const { clock, lull, hear, elapsed, sent } = bot({
      respond: async (turn) => {
        const value = await turn.once(
          "search",
          async () => {
            await clock.sleep(9_000);
            return "found";
          },
          { readOnly: true },
        );
        attempts.push([elapsed(), turn.effects, value]);
        return "done";
      },
    });
    const starts: number[] = [];
    lull.on(({ type }) => type === "attempt.started" && starts.push(elapsed()));
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    await hear("b");
    await clock.advance(60_000);
    // It would have started again at 4 s.
    expect(starts).toEqual([1_000, 10_000]);
    const effects = [{ key: "search", state: "done", value: "found" }];
    expect(attempts.filter(([, { length }]) => length > 0)).toEqual([[10_000, effects, "found"]]);
    expect(sent).toHaveLength(1);
    await lull.stop();
  });

  it("that never ends is in doubt after its lease, and the next attempt is told", async () => {
    const clock = virtualClock();
    const store = withoutHints(memory({ now: () => clock.now() }));
    const runs: OnceContext[] = [];
    const seen: Turn["effects"][] = [];
    const { lull, hear, sent } = bot(
      {
        lease: { turnTimeoutMs: 20_000 },
        respond: async (turn) => {
          seen.push(turn.effects);
          await turn.once("pay", (context) => {
            runs.push(context);
            return runs.length === 1 ? new Promise<never>(() => {}) : "paid";
          });
          return "done";
        },
      },
      { clock, store },
    );
    await lull.start();
    await hear("a");
    await clock.advance(200_000);
    expect(runs.map(({ inDoubt }) => inDoubt)).toEqual([false, true]);
    expect(runs[0]?.idempotencyKey).toBe(runs[1]?.idempotencyKey);
    expect(seen).toEqual([[], [{ key: "pay", state: "unknown" }]]);
    expect(sent.map(({ text }) => text)).toEqual(["done"]);
    await lull.stop();
  });

  it("that ends after its turn goes to the log only", async () => {
    let release = () => {};
    const { clock, lull, hear, sent } = bot({
      respond: (turn) => {
        void turn.once("slow", () => new Promise<string>((resolve) => (release = () => resolve("late"))), {
          readOnly: true,
        });
        return "done";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(8_000);
    expect(sent).toHaveLength(1);
    release();
    await clock.advance(1_000);
    expect((await lull.log("c")).at(-1)).toMatchObject({ kind: "effect", key: "slow", value: "late", late: true });
    expect((await lull.get("c"))?.state).toBe("resting");
    await lull.stop();
  });
});
