/**
 * The embedded scripts, called by their digests.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { statements } from "./statements.ts";

export type ScriptName = keyof typeof statements;

const digests = new Map<ScriptName, string>();

function digestOf(name: ScriptName): string {
  const known = digests.get(name) ?? createHash("sha1").update(statements[name]).digest("hex");
  digests.set(name, known);
  return known;
}

/** The call as a command. `whole`: with the script's text, for a server that does not know its digest. */
export function scriptCall(
  name: ScriptName,
  keys: readonly string[],
  args: readonly string[],
  whole = false,
): readonly string[] {
  const script = whole ? ["EVAL", statements[name]] : ["EVALSHA", digestOf(name)];
  return [...script, String(keys.length), ...keys, ...args];
}

/**
 * Sends a call by digest, and once more with the whole text when the server has forgotten it: after a restart, a
 * failover or SCRIPT FLUSH.
 */
export async function runScript<T>(
  name: ScriptName,
  keys: readonly string[],
  args: () => readonly string[],
  send: (command: readonly string[]) => Promise<T>,
): Promise<T> {
  try {
    return await send(scriptCall(name, keys, args()));
  } catch (error) {
    if (!isUnknownScript(error)) throw error;
    return send(scriptCall(name, keys, args(), true));
  }
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}
