/** A broken promise, and which one. */
export class Violation extends Error {
  readonly invariant: string;

  constructor(invariant: string, message: string) {
    super(`${invariant}: ${message}`);
    this.name = "Violation";
    this.invariant = invariant;
  }
}

export function breaks(invariant: string, message: string): never {
  throw new Violation(invariant, message);
}
