/**
 * The visitor's token: from the site's backend, or from the server for somebody anonymous; and requests that carry it.
 *
 * @module
 */
import { ApiError, problemOf } from "../shared/api.ts";
import type { Storage } from "./storage.ts";

export interface AccessOptions {
  /** Where the server is, ending with a slash. */
  server: string;
  /** The site's own way to a token; null: anonymous. */
  siteToken: (() => Promise<string>) | null;
  storage: Storage;
  /** Runs `work` while no other tab runs its own: two tabs must not become two visitors. */
  alone<T>(work: () => Promise<T>): Promise<T>;
  /** The site's token is somebody else's now. Whatever asked for it is refused with `other-visitor`. */
  onOther(): void;
}

export interface Access {
  /** Who writes, in one word: the same in every tab of the same visitor. @throws ApiError */
  visitor(): Promise<string>;
  /** The same, if it can be known without asking anybody. */
  knownVisitor(): string | null;
  /** Asks the server; gets a new token and asks again when the old one is not good any more. @throws ApiError */
  ask(path: string, init?: RequestInit): Promise<Response>;
}

/** A token this close to its end is not worth a request. */
const marginMs = 10_000;

export function createAccess({ server, siteToken, storage, alone, onOther }: AccessOptions): Access {
  const kept = `lull-chat|${server}|token`;
  let token: string | null = siteToken === null ? storage.get(kept) : null;
  let getting: Promise<string> | null = null;
  /** Nothing of one visitor's may be sent as another's. */
  let who: string | null = null;

  async function anonymous(stale: string | null): Promise<string> {
    // Another tab may have been here.
    const stored = storage.get(kept);
    if (stored !== null && stored !== stale && isFresh(stored)) return stored;
    const ask = (headers: HeadersInit) => reach(`${server}v1/chat/token`, { method: "POST", headers });
    let response = await ask(stored === null ? {} : { authorization: `Bearer ${stored}` });
    // Too old to be renewed: another visitor from here on.
    if (response.status === 401 && stored !== null) response = await ask({});
    if (!response.ok) throw await problemOf(response);
    const { token: issued } = (await response.json()) as { token: string };
    storage.set(kept, issued);
    return issued;
  }

  /** @param stale the token that was refused, or null */
  function fresh(stale: string | null): Promise<string> {
    if (token !== null && token !== stale && isFresh(token)) return Promise.resolve(token);
    const before = stale ?? token;
    getting ??= (siteToken?.() ?? alone(() => anonymous(before)))
      .then((got) => {
        const now = visitorOf(got);
        if (siteToken !== null && who !== null && who !== now) {
          onOther();
          throw new ApiError(409, "other-visitor", "The site's token is another visitor's.");
        }
        [who, token] = [now, got];
        return got;
      })
      .finally(() => {
        getting = null;
      });
    return getting;
  }

  const send = (path: string, init: RequestInit, bearer: string) => {
    const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${bearer}` };
    return reach(server + path, { ...init, headers });
  };

  return {
    visitor: async () => visitorOf(await fresh(null)),
    knownVisitor: () => (token === null ? null : visitorOf(token)),
    async ask(path, init = {}) {
      const first = await fresh(null);
      let response = await send(path, init, first);
      if (response.status === 401) response = await send(path, init, await fresh(first));
      if (!response.ok) throw await problemOf(response);
      return response;
    },
  };
}

/** No cookies: the token is all the server goes by. */
async function reach(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, { ...init, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (init.signal?.aborted && init.signal.reason?.name !== "TimeoutError") throw error;
    throw new ApiError(0, "unreachable", "The server cannot be reached.");
  }
}

/** From the site's backend: `{ "token": "…" }`, asked for with the site's cookies. */
export async function tokenFrom(address: string): Promise<string> {
  let response: Response;
  try {
    response = await fetch(address, {
      credentials: "include",
      cache: "no-store",
      headers: { accept: "application/json" },
    });
  } catch {
    throw new ApiError(0, "unreachable", `The site's token-url cannot be reached: ${address}`);
  }
  if (!response.ok) throw await problemOf(response);
  const { token } = (await response.json().catch(() => ({}))) as { token?: unknown };
  if (typeof token !== "string")
    throw new ApiError(502, "no-token", `The site's token-url must answer {"token": "…"}: ${address}`);
  return token;
}

/** What the token says; whether it is true is the server's to know. */
function claimsOf(token: string): Record<string, unknown> {
  try {
    const [, claims = ""] = token.split(".");
    const bytes = Uint8Array.from(atob(claims.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function isFresh(token: string): boolean {
  const { exp } = claimsOf(token);
  // By our clock, which may be wrong: the server has the last word.
  return typeof exp !== "number" || exp * 1_000 > Date.now() + marginMs;
}

export function visitorOf(token: string): string {
  const { sub = "", conversation = "", bot = "" } = claimsOf(token);
  return JSON.stringify([sub, conversation, bot]);
}
