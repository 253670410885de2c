/**
 * A binary heap of things with a time, the earliest at index 0.
 *
 * @module
 */

export interface Timed {
  atMs: number;
}

export function push<T extends Timed>(heap: T[], entry: T): void {
  let at = heap.push(entry) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || above.atMs <= entry.atMs) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = entry;
}

/** Takes out the earliest of a heap that is not empty. */
export function pop<T extends Timed>(heap: T[]): T {
  const first = heap[0] as T;
  const last = heap.pop() as T;
  if (heap.length === 0) return first;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    const left = heap[child];
    if (left === undefined) break;
    const right = heap[child + 1];
    const least = right !== undefined && right.atMs < left.atMs ? right : left;
    if (least === right) child += 1;
    if (least.atMs >= last.atMs) break;
    heap[at] = least;
    at = child;
  }
  heap[at] = last;
  return first;
}
