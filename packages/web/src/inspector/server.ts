/**
 * The server this inspector belongs to, and who is signed in.
 *
 * @module
 */
import { computed, signal } from "@preact/signals";
import { ApiError, createApi } from "../shared/api.ts";
import type { Session } from "../shared/shapes.ts";

export const api = createApi("../");

/** `unknown` until the server was asked. */
export const session = signal<Session | "unknown" | "none">("unknown");
export const sessionError = signal<ApiError | null>(null);

export const mayOperate = computed(() => {
  const { value } = session;
  return typeof value === "object" && value.roles.includes("operate");
});
export const hidesTexts = computed(() => typeof session.value === "object" && !session.value.texts);

/** Asks who is signed in. */
export async function askSession(): Promise<void> {
  sessionError.value = null;
  try {
    session.value = await api.get<Session>("v1/session");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) session.value = "none";
    else sessionError.value = error;
  }
}

/** @throws ApiError when the key is none. */
export async function signIn(key: string): Promise<void> {
  session.value = await api.post<Session>("v1/session", { key });
}

export async function signOut(): Promise<void> {
  await api.delete("v1/session");
  session.value = "none";
}

/** The session is over: its key is gone, or its time. */
export function lostSession(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.status !== 401) return false;
  session.value = "none";
  return true;
}

/** What to do about an error, in a sentence. */
export function adviceOn(error: ApiError): string {
  switch (error.code) {
    case "unreachable":
      return "Is the server running, and is this machine online? The page tries again by itself.";
    case "store-unavailable":
    case "store-busy":
    case "store-closed":
      return "The server runs, its database does not answer. Nothing is lost: look at the database; the page tries again by itself.";
    case "store-damaged":
    case "store-newer-schema":
    case "store-not-contiguous":
      return "Run `lull check-store`: it says what is wrong with the database, and what to do.";
    case "too-many-streams":
      return "Close other inspectors, or raise the server's setting maxStreams.";
    case "too-many-requests":
      return "This key asks too often. The page goes on in a moment.";
    case "forbidden":
      return "Sign in with a key that has the right; an operator gives them out (LULL_API_KEYS).";
    case "origin-not-allowed":
      return "The server refuses changes from other sites. Open the inspector at the server's own address.";
    case "not-found":
      return "Nobody has written in it, or it was erased.";
    default:
      return error.status >= 500 ? "The server's log says what happened." : "";
  }
}
