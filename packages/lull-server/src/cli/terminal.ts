/**
 * What the command line needs of a terminal: colour where it is wanted, and texts made harmless.
 *
 * @module
 */

/** Colour for terminals, unless NO_COLOR says otherwise; FORCE_COLOR for pipes that can show it. */
export function hasColour(stream: { isTTY?: boolean }, env: Record<string, string | undefined> = process.env): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== "0";
  return stream.isTTY === true && env.TERM !== "dumb";
}

export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

export function paint(on: boolean): Paint {
  const code = (open: number, close: number) => (text: string) =>
    on && text !== "" ? `\x1b[${open}m${text}\x1b[${close}m` : text;
  return {
    bold: code(1, 22),
    dim: code(2, 22),
    red: code(31, 39),
    green: code(32, 39),
    yellow: code(33, 39),
    cyan: code(36, 39),
  };
}

/** A text from outside on one line: control characters could move the cursor or rewrite what was shown. */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be removed
  return text.replace(/\r?\n/g, " ⏎ ").replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "�");
}
