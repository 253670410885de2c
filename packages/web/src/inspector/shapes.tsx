/**
 * How a mark looks, by what it is: shapes as well as colours, for those who do not tell the colours apart.
 *
 * @module
 */
const r = 5.5;

const diamond = `M0 ${-r - 1}L${r + 1} 0L0 ${r + 1}L${-r - 1} 0Z`;
const square = `M${-r + 0.5} ${-r + 0.5}H${r - 0.5}V${r - 0.5}H${-r + 0.5}Z`;
const triangle = `M0 ${-r - 1}L${r + 1} ${r - 0.5}H${-r - 1}Z`;
const cross = "M-4 -4L4 4M4 -4L-4 4";
const flag = `M${-r + 1} ${r + 1}V${-r - 1}H${r}L${r - 3} ${-r / 2 - 0.5}L${r} 0H${-r + 1}`;

const shapes: Record<string, string> = {
  edit: square,
  retraction: cross,
  expired: triangle,
  "effect-unknown": triangle,
  commit: diamond,
  effect: square,
  sealed: square,
  settled: flag,
  human: flag,
  resumed: flag,
  reset: flag,
  retry: flag,
  tuned: flag,
  flushed: flag,
};

/** A mark around the origin. */
export function Shape({ kind }: { kind: string }) {
  const path = shapes[kind];
  if (path === undefined) return <circle class="shape" r={r} />;
  return <path class={kind === "retraction" ? "shape stroke-only" : "shape"} d={path} />;
}
