/**
 * Sessions of people who opened a page with a key: a cookie that says whose key it was and until when, signed with
 * something that only a holder of the keys can know. So it is good at every process that has the key, outlives a
 * restart, and dies with its key.
 *
 * @module
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Key } from "./auth.ts";

/** A working day, and no longer. */
export const sessionMs = 12 * 3_600_000;

/** Under another purpose than what the digest is compared for. */
function secretOf({ digest }: Key): Buffer {
  return createHmac("sha256", digest).update("lull session 1").digest();
}

function sign(key: Key, claims: string): Buffer {
  return createHmac("sha256", secretOf(key)).update(claims).digest();
}

/** The cookie's value for whoever has shown this key. */
export function openSession(key: Key, nowMs: number): string {
  const claims = Buffer.from(JSON.stringify([key.name, nowMs + sessionMs])).toString("base64url");
  return `${claims}.${sign(key, claims).toString("base64url")}`;
}

/** The key that the session was opened with; null for what is forged, expired, or of a key that is gone. */
export function keyOfSession(keys: readonly Key[], value: string, nowMs: number): Key | null {
  const [claims = "", signature = "", ...rest] = value.split(".");
  if (rest.length > 0) return null;
  const given = Buffer.from(signature, "base64url");
  let found: Key | null = null;
  for (const key of keys) {
    const wanted = sign(key, claims);
    if (wanted.length === given.length && timingSafeEqual(wanted, given)) found = key;
  }
  if (found === null) return null;
  // Signed by us, so it is what we wrote.
  const [, untilMs] = JSON.parse(Buffer.from(claims, "base64url").toString("utf8")) as [string, number];
  return nowMs < untilMs ? found : null;
}
