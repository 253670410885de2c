/**
 * Who may do what. With keys: `Authorization: Bearer …`, each key with its roles. Without keys the server
 * only listens on loopback, and then checks `Host` and `Origin`, because any web page a person visits can
 * reach loopback through their browser (DNS rebinding, cross-site forms).
 *
 * @module
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { isIPv4 } from "node:net";
import { ConfigError } from "./config.ts";
import { Problem } from "./problem.ts";

/**
 * - `send`: hand in, edit and retract messages, typing, flush; see the reply one waits for.
 * - `read`: conversations, logs, events, metrics.
 * - `operate`: everything, with hand-offs, resets, sends and erasure.
 * - `inspect`: reads like `read`, but of what people and bots write, and who they are, only how long it is.
 */
export type Role = "send" | "read" | "operate" | "inspect";
const roles: readonly Role[] = ["send", "read", "operate", "inspect"];

/** Everything that roles allow. */
export function rightsOf(given: Iterable<Role>): Role[] {
  const had = new Set(given);
  return had.has("operate") ? ["send", "read", "operate"] : roles.filter((role) => had.has(role));
}

export interface Key {
  name: string;
  roles: ReadonlySet<Role>;
  /** The only bot it is good for; undefined: any, and whatever concerns the whole server. */
  bot?: string;
  /** SHA-256 of the secret: the secret itself is not kept. */
  digest: Buffer;
}

/** Secrets shorter than this are guessable by trying. */
const leastSecret = 16;

/**
 * `name:role:secret` entries; several roles are joined by `+`. A name may stand twice, with two secrets: while a key is
 * rotated, both are valid.
 * @throws ConfigError naming the entry by position and name, never its secret.
 */
export function parseKeys(entries: readonly string[]): Key[] {
  const problems: string[] = [];
  const keys: Key[] = [];
  entries.forEach((entry, index) => {
    const [name, role, ...rest] = entry.split(":");
    const secret = rest.join(":");
    const where = `apiKeys: entry ${index + 1}`;
    if (!name || !role || !secret) {
      problems.push(`${where} must look like name:role:secret.`);
      return;
    }
    const given = role.split("+");
    if (given.some((item) => !roles.includes(item as Role))) {
      problems.push(`${where}: the role must be one of ${roles.join(", ")} (or send+read).`);
      return;
    }
    if (given.length > 1 && given.includes("inspect"))
      problems.push(`${where}: inspect stands alone: with another role the key would see the texts.`);
    if (secret.length < leastSecret)
      problems.push(`${where}: the secret must have at least ${leastSecret} characters.`);
    const sameName = keys.filter((key) => key.name === name);
    if (sameName.length > 1) problems.push(`${where}: two entries have that name already, the new secret and the old.`);
    if (sameName.some((key) => [...key.roles].sort().join("+") !== [...given].sort().join("+")))
      problems.push(`${where}: the entry of the same name has other roles; while rotating both have the same.`);
    if (keys.some((key) => timingSafeEqual(key.digest, digest(secret))))
      problems.push(`${where}: another entry has the same secret.`);
    keys.push({ name, roles: new Set(given as Role[]), digest: digest(secret) });
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return keys;
}

function digest(secret: string): Buffer {
  return createHash("sha256").update(secret, "utf8").digest();
}

/** The key that fits, or null. Compares with every key, each in constant time. */
export function findKey(keys: readonly Key[], secret: string): Key | null {
  const given = digest(secret);
  let found: Key | null = null;
  for (const key of keys) if (timingSafeEqual(key.digest, given)) found = key;
  return found;
}

/**
 * The key of a request with the role it needs.
 * @throws Problem 401 or 403.
 */
export function authorize(keys: readonly Key[], header: string | undefined, role: Role): Key {
  const match = /^bearer +(\S+) *$/i.exec(header ?? "");
  const key = match?.[1] === undefined ? null : findKey(keys, match[1]);
  if (key === null) throw unauthorized("Send one of the server's keys: Authorization: Bearer SECRET.");
  checkRole(key, role);
  return key;
}

export function unauthorized(detail: string): Problem {
  return new Problem(401, "unauthorized", detail, {
    field: "authorization",
    headers: { "www-authenticate": 'Bearer realm="lull"' },
  });
}

/** @throws Problem 403. */
export function checkRole(key: Key, role: Role): void {
  if (key.roles.has(role) || key.roles.has("operate") || (role === "read" && key.roles.has("inspect"))) return;
  throw new Problem(403, "forbidden", `This key may not do that: it lacks the role ${role}.`, {
    field: "authorization",
  });
}

/** True for names and addresses that only this machine can reach. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}

/**
 * @throws ConfigError for a server that everybody could use.
 */
export function checkExposure(host: string, keys: readonly Key[]): void {
  if (keys.length > 0 || isLoopback(host)) return;
  throw new ConfigError([
    `host is ${JSON.stringify(host)}, which other machines can reach, and no keys are set: anybody could read and write every conversation.`,
    "Set LULL_API_KEYS=name:operate:SECRET (openssl rand -hex 24 makes a secret), or keep host at 127.0.0.1.",
  ]);
}

function hostName(value: string): string | null {
  try {
    return new URL(`http://${value}`).hostname;
  } catch {
    return null;
  }
}

/**
 * For servers without keys: the request must have been addressed to loopback and, if a page made it, the
 * page must be our own.
 * @throws Problem 403.
 */
export function checkBrowser(host: string, origin: string | undefined): void {
  const name = hostName(host);
  if (name === null || !isLoopback(name))
    throw new Problem(
      403,
      "host-not-allowed",
      "A server without keys only answers to localhost. Set apiKeys to use another name.",
      {
        field: "host",
      },
    );
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`)
    throw new Problem(
      403,
      "origin-not-allowed",
      "A server without keys refuses requests made by other web pages. Set apiKeys.",
      {
        field: "origin",
      },
    );
}
