// Seeded chance. One seed gives one schedule of disturbances and one set of typists; processes and disks still
// take the time they take, so a run is alike, not identical.

/** mulberry32: small, seeded, good enough for schedules. */
export function dice(/** @type {number} */ seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (/** @type {number} */ least, /** @type {number} */ most) => least + next() * (most - least);
  return {
    next,
    between,
    chance: (/** @type {number} */ p) => next() < p,
    /** @template T @param {readonly T[]} list @returns {T} */
    pick: (list) => /** @type {T} */ (list[Math.floor(next() * list.length)]),
    /** Waiting times of independent events. */
    exponential: (/** @type {number} */ mean) => -Math.log(1 - next()) * mean,
    lognormal(/** @type {number} */ mu, /** @type {number} */ sigma) {
      const normal = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
      return Math.exp(mu + sigma * normal);
    },
  };
}

/** @typedef {ReturnType<typeof dice>} Dice */

export const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
