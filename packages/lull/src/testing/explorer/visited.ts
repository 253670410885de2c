/**
 * A set of 64-bit names, numbered in the order they came: open addressing over typed arrays, 12 bytes an entry.
 * Two different forms share a name with a probability of about n² / 2⁶⁵: one in a million for five million states.
 */
export class Visited {
  size = 0;
  private high: Int32Array;
  private low: Int32Array;
  private number: Int32Array;
  private mask: number;

  constructor(capacity = 1 << 16) {
    this.high = new Int32Array(capacity);
    this.low = new Int32Array(capacity);
    this.number = new Int32Array(capacity).fill(-1);
    this.mask = capacity - 1;
  }

  /** Its number, whether it is new or not; new ones get the next. */
  add(high: number, low: number): number {
    if (this.size * 2 > this.mask) this.grow();
    const at = this.place(high, low);
    const known = this.number[at] as number;
    if (known >= 0) return known;
    this.high[at] = high;
    this.low[at] = low;
    this.number[at] = this.size;
    this.size += 1;
    return this.size - 1;
  }

  private place(high: number, low: number): number {
    let at = (high ^ Math.imul(low, 0x9e3779b1)) & this.mask;
    while ((this.number[at] as number) >= 0 && (this.high[at] !== high || this.low[at] !== low))
      at = (at + 1) & this.mask;
    return at;
  }

  private grow(): void {
    const { high, low, number } = this;
    const capacity = 2 * (this.mask + 1);
    this.high = new Int32Array(capacity);
    this.low = new Int32Array(capacity);
    this.number = new Int32Array(capacity).fill(-1);
    this.mask = capacity - 1;
    for (let old = 0; old < number.length; old += 1) {
      if ((number[old] as number) < 0) continue;
      const at = this.place(high[old] as number, low[old] as number);
      this.high[at] = high[old] as number;
      this.low[at] = low[old] as number;
      this.number[at] = number[old] as number;
    }
  }
}

/** Numbers without end, in a typed array. */
export class Row {
  length = 0;
  private values = new Int32Array(1 << 16);

  push(value: number): void {
    if (this.length === this.values.length) {
      const longer = new Int32Array(2 * this.length);
      longer.set(this.values);
      this.values = longer;
    }
    this.values[this.length] = value;
    this.length += 1;
  }

  at(index: number): number {
    return this.values[index] as number;
  }
}
