// In the place of a language model: takes two seconds, and stops when nobody wants the answer any more.
import { setTimeout as sleep } from "node:timers/promises";

export async function answer(texts: readonly string[], signal: AbortSignal): Promise<string> {
  await sleep(2_000, undefined, { signal });
  return `You said: ${texts.join(" / ")}`;
}
