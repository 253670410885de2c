/**
 * A sorted set of plain values, in chunks: adding and removing move at most one chunk, so 10⁵ timers cost
 * what a few hundred do.
 *
 * @module
 */

const chunkSize = 512;

export class Sorted<T> {
  readonly #compare: (a: T, b: T) => number;
  /** None is empty; every value of a chunk is below all values of the next. */
  readonly #chunks: T[][] = [];
  #size = 0;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#size;
  }

  first(): T | undefined {
    return this.#chunks[0]?.[0];
  }

  /** @returns false when an equal value is there already */
  add(value: T): boolean {
    const last = this.#chunks.length - 1;
    const at = Math.min(this.#chunkOf(value), Math.max(last, 0));
    const chunk = this.#chunks[at];
    if (!chunk) {
      this.#chunks.push([value]);
    } else {
      const index = this.#indexIn(chunk, value);
      const there = chunk[index];
      if (there !== undefined && this.#compare(there, value) === 0) return false;
      chunk.splice(index, 0, value);
      if (chunk.length > 2 * chunkSize) this.#chunks.splice(at + 1, 0, chunk.splice(chunkSize));
    }
    this.#size++;
    return true;
  }

  /** @returns false when no equal value is there */
  delete(value: T): boolean {
    const at = this.#chunkOf(value);
    const chunk = this.#chunks[at];
    if (!chunk) return false;
    const index = this.#indexIn(chunk, value);
    const there = chunk[index];
    if (there === undefined || this.#compare(there, value) !== 0) return false;
    chunk.splice(index, 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
    this.#size--;
    return true;
  }

  /** All values from the first that is not below `start`. Do not change the set while iterating. */
  *from(start: T): Generator<T, void, undefined> {
    let index: number | undefined;
    for (let at = this.#chunkOf(start); at < this.#chunks.length; at++) {
      const chunk = this.#chunks[at] as T[];
      index = index === undefined ? this.#indexIn(chunk, start) : 0;
      for (; index < chunk.length; index++) yield chunk[index] as T;
    }
  }

  /** The first chunk whose last value is not below `value`; the number of chunks when there is none. */
  #chunkOf(value: T): number {
    return lowerBound(this.#chunks.length, (at) => {
      const chunk = this.#chunks[at] as T[];
      return this.#compare(chunk[chunk.length - 1] as T, value) < 0;
    });
  }

  #indexIn(chunk: readonly T[], value: T): number {
    return lowerBound(chunk.length, (at) => this.#compare(chunk[at] as T, value) < 0);
  }
}

/** The first index for which `isBelow` is false. */
function lowerBound(length: number, isBelow: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The order of the strings' UTF-8 bytes, which databases use; JavaScript's own differs for emoji. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const x = a.charCodeAt(index);
    const y = b.charCodeAt(index);
    // Code units that begin or end a surrogate pair stand for code points above all others.
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
