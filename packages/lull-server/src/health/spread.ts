/**
 * How durations are spread, in little memory: counted in steps of five per cent, so that a percentile is at most
 * half a step off, and that spreads of several minutes can be added up.
 *
 * @module
 */

const step = Math.log(1.05);
/** A day: 375 steps, 750 bytes. */
const longestMs = 86_400_000;
const size = 2 + Math.ceil(Math.log(longestMs) / step);
/** What a step counts to; beyond, percentiles are those of the first 65,535. */
const most = 65_535;

export class Spread {
  #counts: Uint16Array | null = null;

  add(ms: number): void {
    this.#counts ??= new Uint16Array(size);
    const at = ms < 1 ? 0 : 1 + Math.floor(Math.log(Math.min(ms, longestMs)) / step);
    this.#counts[at] = Math.min(most, (this.#counts[at] ?? 0) + 1);
  }

  addAll(other: Spread): void {
    if (other.#counts === null) return;
    this.#counts ??= new Uint16Array(size);
    const counts = this.#counts;
    for (const [at, count] of other.#counts.entries()) counts[at] = Math.min(most, (counts[at] ?? 0) + count);
  }

  /** `[p50, p95]` in whole milliseconds; null of nothing. */
  percentiles(): [p50: number, p95: number] | null {
    const counts = this.#counts;
    if (counts === null) return null;
    const all = counts.reduce((sum, count) => sum + count, 0);
    const below = (share: number): number => {
      let seen = 0;
      const at = counts.findIndex((count) => {
        seen += count;
        return seen >= all * share;
      });
      return at === 0 ? 0 : Math.round(Math.exp((at - 0.5) * step));
    };
    return [below(0.5), below(0.95)];
  }
}
