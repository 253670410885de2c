// What the tallies say: sums over people, curves over quiet targets, comparisons at equal replies per turn.
import { dice } from "./random.mjs";

/**
 * @typedef {import("./play.mjs").Tally} Tally
 * @typedef {{ repliesPerTurn: number, interrupted: number, callsPerTurn: number, wastedPerReply: number, meanMs: number, p50Ms: number, p95Ms: number }} Summary
 * @typedef {{ quietMs: number, tallies: Tally[] }} Point  one policy at one quiet target: a tally a person
 */

/** @param {readonly Tally[]} tallies @returns {Summary} */
export function summary(tallies) {
  let [turns, replies, interrupted, calls, wasted] = [0, 0, 0, 0, 0];
  /** @type {number[]} */
  const delays = [];
  for (const tally of tallies) {
    turns += tally.turns;
    replies += tally.replies;
    interrupted += tally.interrupted;
    calls += tally.calls;
    wasted += tally.wasted;
    for (const delay of tally.delays) delays.push(delay);
  }
  const sorted = Float64Array.from(delays).sort();
  const at = (/** @type {number} */ p) => sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] ?? 0;
  return {
    repliesPerTurn: replies / turns,
    interrupted: interrupted / turns,
    callsPerTurn: calls / turns,
    wastedPerReply: wasted / replies,
    meanMs: sorted.reduce((sum, delay) => sum + delay, 0) / sorted.length,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
  };
}

/**
 * The policy as it would be with a quiet target that gives so many replies per turn: between the two points around it.
 * `clipped`: even its shortest target gives fewer; then it is that one, and the comparison is unfair to it.
 * @param {readonly Summary[]} curve any order
 * @param {number} repliesPerTurn
 * @returns {(Summary & { clipped: boolean }) | null} null: even its longest target gives more
 */
export function at(curve, repliesPerTurn) {
  const sorted = [...curve].sort((a, b) => a.repliesPerTurn - b.repliesPerTurn);
  const above = sorted.findIndex((point) => point.repliesPerTurn >= repliesPerTurn);
  const [last] = sorted.slice(-1);
  if (last === undefined || above === 0)
    return above === 0 && sorted[0]?.repliesPerTurn === repliesPerTurn ? { ...sorted[0], clipped: false } : null;
  if (above < 0) return { ...last, clipped: true };
  const [a, b] = /** @type {[Summary, Summary]} */ ([sorted[above - 1], sorted[above]]);
  const share = (repliesPerTurn - a.repliesPerTurn) / (b.repliesPerTurn - a.repliesPerTurn || 1);
  const between = Object.keys(a).map((key) => {
    const name = /** @type {keyof Summary} */ (key);
    return [name, a[name] + share * (b[name] - a[name])];
  });
  return { .../** @type {Summary} */ (Object.fromEntries(between)), clipped: false };
}

/** @typedef {{ change: number, low: number, high: number, clipped: boolean }} Change  shares: -0.3 is 30 % less */

/**
 * How much one figure of a policy differs from a reference policy's, at the replies per turn that the anchor gives.
 * With a bootstrap over people: the middle 95 % of `samples` resamples.
 * @param {{ policy: readonly Point[], reference: readonly Point[], anchor: Point }} curves
 * @param {keyof Summary} figure
 * @param {number} samples
 * @returns {Change | null}
 */
export function change({ policy, reference, anchor }, figure, samples) {
  const people = anchor.tallies.length;
  const measure = (/** @type {readonly number[] | null} */ chosen) => {
    const pick = (/** @type {readonly Tally[]} */ tallies) =>
      chosen === null ? tallies : chosen.map((index) => /** @type {Tally} */ (tallies[index]));
    const { repliesPerTurn } = summary(pick(anchor.tallies));
    const curve = (/** @type {readonly Point[]} */ points) =>
      at(
        points.map(({ tallies }) => summary(pick(tallies))),
        repliesPerTurn,
      );
    const [mine, theirs] = [curve(policy), curve(reference)];
    return mine === null || theirs === null
      ? null
      : { change: mine[figure] / theirs[figure] - 1, clipped: mine.clipped };
  };
  const whole = measure(null);
  if (whole === null) return null;
  const random = dice(7);
  /** @type {number[]} */
  const drawn = [];
  for (let n = 0; n < samples; n += 1) {
    const one = measure(Array.from({ length: people }, () => Math.floor(random() * people)));
    if (one !== null) drawn.push(one.change);
  }
  drawn.sort((a, b) => a - b);
  const quantile = (/** @type {number} */ p) =>
    drawn[Math.min(drawn.length - 1, Math.floor(p * drawn.length))] ?? whole.change;
  return { ...whole, low: quantile(0.025), high: quantile(0.975) };
}
