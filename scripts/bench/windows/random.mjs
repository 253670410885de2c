// Chance from a seed: the same bench twice gives the same table.

/** mulberry32. @param {number} seed @returns {() => number} 0 ≤ x < 1 */
export function dice(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Box and Muller. @param {() => number} random */
export function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** @param {() => number} random @param {number} mu @param {number} sigma */
export function lognormal(random, mu, sigma) {
  return Math.exp(mu + sigma * normal(random));
}
