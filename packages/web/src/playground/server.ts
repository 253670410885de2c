/**
 * What the playground asks of the server it came from.
 *
 * @module
 */
import { ApiError, createApi, pathOf } from "../shared/api.ts";
import type { Conversation, Event, Session } from "../shared/shapes.ts";
import { follow, type StreamState } from "../shared/stream.ts";

// The page is served at two places, `./` and `playground/`; this script lies in `assets/` for both.
const here = import.meta.url;
export const api = createApi(new URL("../", here).href);

/** Who is signed in, or null: the server wants a key. */
export async function askSession(): Promise<Session | null> {
  try {
    return await api.get<Session>("v1/session");
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

/** @throws ApiError when the key is none. */
export function signIn(key: string): Promise<Session> {
  return api.post<Session>("v1/session", { key });
}

export function signOut(): Promise<void> {
  return api.delete("v1/session");
}

export interface OwnMessage {
  id: string;
  text: string;
  /** How long the demo responder pretends to think. */
  thinkMs: number;
}

/** Tries of one message, a second apart: the same id makes it one message however often it arrives. */
const tries = 5;

/** Hands a message in. @throws ApiError */
export async function send(conversation: string, { id, text, thinkMs }: OwnMessage): Promise<void> {
  for (let count = 1; ; count += 1) {
    try {
      await api.post("v1/messages", { conversation, id, text, author: "you", metadata: { thinkMs } });
      return;
    } catch (error) {
      const isPassing = error instanceof ApiError && (error.status === 0 || error.status >= 500);
      if (!isPassing || count === tries) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

/** Holds the window while somebody types. Nothing is lost if it is not heard. */
export function typing(conversation: string): void {
  api.post(pathOf(conversation, "/typing")).catch(() => {});
}

/** The quiet this conversation's user is given from now on. @throws ApiError */
export function tune(conversation: string, quietMs: number): Promise<void> {
  return api.put(pathOf(conversation, "/settings"), { debounce: { quietMs } });
}

/** Null: nobody has written to it. @throws ApiError */
export async function look(conversation: string): Promise<Conversation | null> {
  try {
    return await api.get<Conversation>(pathOf(conversation));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** Every event of the conversation from its first one, and those to come. */
export function watch(
  conversation: string,
  onEvent: (event: Event) => void,
  onState: (state: StreamState) => void,
  signal: AbortSignal,
): Promise<void> {
  return follow({
    url: (after) => api.url(pathOf(conversation, "/events"), { after: after ?? 0 }),
    onFrame: ({ data }) => onEvent(data as Event),
    onState,
    signal,
  });
}
