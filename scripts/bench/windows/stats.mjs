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

/**
 * @typedef {{ change: number, low: number, high: number, clipped: boolean }} Change  shares: -0.3 is 30 % less
 * @typedef {{ figure: keyof Summary, reference: string }} Question
 */

/**
 * How much figures of each policy differ from a reference policy's, at the replies per turn that the anchor (a point of
 * the policy `discard`) gives. With a bootstrap over people: the middle 95 % of `samples` resamples, the same for all.
 * @param {Record<string, readonly Point[]>} curves  by policy
 * @param {readonly number[]} anchorsMs  its quiet targets
 * @param {Record<string, Question>} questions
 * @param {number} samples
 * @returns {{ anchorMs: number, policy: string, at: ReturnType<typeof at>, changes: Record<string, Change | null> }[]}
 */
export function compare(curves, anchorsMs, questions, samples) {
  const policies = Object.keys(curves).filter((policy) => (curves[policy] ?? []).length > 0);
  const people = curves[policies[0] ?? ""]?.[0]?.tallies.length ?? 0;
  const random = dice(7);
  const resamples = Array.from({ length: samples }, () =>
    Array.from({ length: people }, () => Math.floor(random() * people)),
  );
  /** @param {readonly number[] | null} chosen */
  const measured = (chosen) => {
    /** @type {Map<string, { quietMs: number, summary: Summary }[]>} */
    const summaries = new Map();
    for (const policy of policies) {
      const points = (curves[policy] ?? []).map(({ quietMs, tallies }) => {
        const picked = chosen === null ? tallies : chosen.map((index) => /** @type {Tally} */ (tallies[index]));
        return { quietMs, summary: summary(picked) };
      });
      summaries.set(policy, points);
    }
    return anchorsMs.map((anchorMs) => {
      const anchor = summaries.get("discard")?.find(({ quietMs }) => quietMs === anchorMs)?.summary;
      if (anchor === undefined) throw new Error(`discard was not played with ${anchorMs} ms`);
      return new Map(
        policies.map((policy) => [
          policy,
          at(
            (summaries.get(policy) ?? []).map((point) => point.summary),
            anchor.repliesPerTurn,
          ),
        ]),
      );
    });
  };
  const whole = measured(null);
  const drawn = resamples.map(measured);
  return anchorsMs.flatMap((anchorMs, index) =>
    policies.map((policy) => {
      const fits = /** @type {NonNullable<(typeof whole)[number]>} */ (whole[index]);
      const changes = Object.entries(questions).map(([name, { figure, reference }]) => {
        const of = (/** @type {typeof fits} */ each) => {
          const [mine, theirs] = [each.get(policy), each.get(reference)];
          return mine == null || theirs == null ? null : mine[figure] / theirs[figure] - 1;
        };
        const change = of(fits);
        const all = drawn.flatMap((each) => of(/** @type {typeof fits} */ (each[index])) ?? []).sort((a, b) => a - b);
        const quantile = (/** @type {number} */ p) =>
          all[Math.min(all.length - 1, Math.floor(p * all.length))] ?? Number.NaN;
        const clipped = fits.get(policy)?.clipped === true;
        return [name, change === null ? null : { change, low: quantile(0.025), high: quantile(0.975), clipped }];
      });
      return { anchorMs, policy, at: fits.get(policy) ?? null, changes: Object.fromEntries(changes) };
    }),
  );
}
