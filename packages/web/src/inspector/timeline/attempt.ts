/**
 * Attempts, and the leases they took: the log tells of a lease by the attempt that claimed it and by how that one ended, the
 * record of the one that is held now. When exactly an expired lease expired the log does not say, only when that was found out.
 *
 * @module
 */
import type { Conversation, EntryOf } from "../../shared/shapes.ts";
import { clockTime, lasting, ownerName } from "../words.ts";
import type { Board } from "./board.ts";
import { endings } from "./endings.ts";
import { end, fact, type Item, type Tone } from "./item.ts";
import { waitWords } from "./window.ts";

export class Attempts {
  readonly #board: Board;
  readonly #attempts = new Map<number, Item>();
  readonly #leases = new Map<number, Item>();
  readonly #tokens = new Map<number, number>();
  /** The newest attempt's fence: the only lease that may still be held. */
  #current: number | null = null;

  constructor(board: Board) {
    this.#board = board;
  }

  begin(entry: EntryOf<"attempt">, at: number): void {
    const { fence, owner, from, to, attempt, sealed, wait, crossed } = entry;
    // A lease that nobody saw the end of ended at the latest now: there is only ever one.
    if (this.#current !== null) {
      this.endLease(this.#current, at, "followed by another");
      this.end(this.#current, at, "not known", "warn");
    }
    this.#current = fence;
    this.#leases.set(fence, this.#lease(owner, fence, { at, seq: entry.seq }));
    const bar = this.#board.bar(
      "attempt",
      "attempt",
      { at, seq: entry.seq },
      { tone: "live", label: `#${attempt}`, title: `Attempt ${attempt} at inputs ${from + 1} to ${to}` },
    );
    fact(bar, "Attempt", String(attempt));
    fact(bar, "Inputs", from + 1 === to ? String(to) : `${from + 1} to ${to}`);
    fact(bar, "Fence", String(fence));
    fact(bar, "Holder", owner);
    fact(bar, "Started after", wait && waitWords(wait));
    if (sealed) fact(bar, "Sealed", "from its start: newer input does not discard it");
    fact(bar, "Crossed", crossed && `its first input was typed when reply ${crossed} appeared`);
    this.#attempts.set(fence, bar);
    this.#board.grow(at);
  }

  #lease(owner: string, fence: number, place: { at: number; seq: number | null }, purpose = ""): Item {
    const name = ownerName(owner);
    return this.#board.bar("lease", "lease", place, {
      label: `${name} · fence ${fence}`,
      title: `Lease of ${name}, fence ${fence}${purpose}`,
      facts: [
        { name: "Holder", value: owner },
        { name: "Fence", value: String(fence) },
      ],
    });
  }

  absorbed({ fence, to }: EntryOf<"absorbed">, at: number): void {
    fact(this.#attempts.get(fence), "Took in", `up to version ${to} at ${clockTime(at)}`);
  }

  sealed({ fence, seq }: EntryOf<"sealed">, at: number): void {
    this.#board.mark(
      "attempt",
      "sealed",
      { at, seq },
      {
        label: "sealed",
        title: "Sealed: newer input no longer discards the answer",
        facts: [{ name: "Fence", value: String(fence) }],
      },
    );
  }

  spent({ fence, tokens }: EntryOf<"usage">): void {
    this.#tokens.set(fence, (this.#tokens.get(fence) ?? 0) + tokens);
  }

  ended(entry: EntryOf<"ended">, at: number): void {
    const { fence, outcome, error, retryAt, seq } = entry;
    const [words, tone] = endings[outcome];
    this.end(fence, at, words, tone, error);
    fact(this.#attempts.get(fence), "Tried again at", retryAt && clockTime(Date.parse(retryAt)));
    const expired = outcome === "expired";
    this.endLease(fence, at, expired ? "expired: its holder was gone" : words, expired ? "bad" : "plain");
    if (expired)
      this.#board.mark(
        "lease",
        "expired",
        { at, seq },
        {
          tone: "bad",
          label: "expired",
          title: `A crash: the lease with fence ${fence} was found expired`,
          facts: [
            { name: "Fence", value: String(fence) },
            { name: "Found", value: "by the next holder, at this time; the lease had ended before" },
          ],
        },
      );
    this.#board.grow(at);
  }

  end(fence: number, at: number, outcome: string, tone: Tone, why?: string): void {
    const attempt = this.#attempts.get(fence);
    if (!attempt?.open) return;
    end(attempt, at, { tone, label: `${attempt.label} ${outcome}` });
    attempt.title = `${attempt.title}: ${outcome}${why ? ` (${why})` : ""} after ${lasting(at - attempt.start)}`;
    fact(attempt, "Outcome", outcome);
    fact(attempt, "Took", lasting(at - attempt.start));
    fact(attempt, "Why", why);
  }

  endLease(fence: number | null, at: number, how: string, tone: Tone = "plain"): void {
    const lease = fence === null ? undefined : this.#leases.get(fence);
    if (!lease?.open) return;
    end(lease, at, { tone });
    lease.title = `${lease.title}: ${how} after ${lasting(at - lease.start)}`;
    fact(lease, "Ended", how);
    fact(lease, "Held for", lasting(at - lease.start));
  }

  /** The newest one chose to say nothing. */
  silent(at: number): void {
    if (this.#current === null) return;
    this.end(this.#current, at, "chose silence", "plain");
    this.endLease(this.#current, at, "silent");
  }

  /** Its answer was taken back. */
  withdrawn(fence: number | null): void {
    const attempt = fence === null ? undefined : this.#attempts.get(fence);
    if (attempt !== undefined) attempt.tone = "warn";
    fact(attempt, "Then", "withdrawn: newer input came before anything was shown");
  }

  /** When the attempt with that fence began, if it is in the part of the log that was read. */
  startOf(fence: number): number | undefined {
    return this.#attempts.get(fence)?.start;
  }

  /** How things stand at `now`, by the record; `last`: the log's newest instant. */
  stand(conversation: Conversation | null, now: number, last: number): void {
    for (const [fence, sum] of this.#tokens) fact(this.#attempts.get(fence), "Tokens", String(sum));
    const lease = conversation?.lease ?? null;
    const current = this.#current;
    if (current !== null && lease?.fence !== current) {
      this.end(current, Math.max(last, this.#attempts.get(current)?.start ?? last), "not known", "warn");
      this.endLease(current, Math.max(last, this.#leases.get(current)?.start ?? last), "not known");
    }
    if (lease === null) return;
    const attempt = this.#attempts.get(lease.fence);
    if (attempt?.open) {
      attempt.end = now;
      attempt.title = `${attempt.title}, running for ${lasting(now - attempt.start)}`;
    }
    // A fence is the store's clock at the claim, unless two claims shared a millisecond.
    const begun = { at: Math.min(Math.max(lease.fence, last), now), seq: null };
    const bar = this.#leases.get(lease.fence) ?? this.#lease(lease.owner, lease.fence, begun, `, to ${lease.purpose}`);
    const expiry = Date.parse(lease.expiresAt);
    Object.assign(bar, { open: true, end: Math.max(now, bar.start), tone: expiry < now ? "bad" : "live" });
    fact(bar, "Expires", clockTime(expiry));
    bar.ticks.push({ at: expiry, name: `lease expires ${clockTime(expiry)}`, kind: "expiry" });
  }
}
