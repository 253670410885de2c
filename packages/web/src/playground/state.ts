/**
 * The page's state: one conversation with the server, the naive bot beside it, and the input that feeds both.
 *
 * @module
 */
import { computed, signal } from "@preact/signals";
import { ApiError } from "../shared/api.ts";
import type { Event, Session } from "../shared/shapes.ts";
import type { StreamState } from "../shared/stream.ts";
import { answered, heard, type NaiveSide, silence } from "./naive.ts";
import { changed, empty, next, type Side, wrote } from "./right.ts";
import { api, askSession, look, send, signOut, tune, typing, watch } from "./server.ts";

/** `unknown` until the server was asked, `none`: it wants a key. */
export const session = signal<Session | "unknown" | "none">("unknown");
/** Why the page cannot go on, if it cannot. */
export const trouble = signal<string | null>(null);
export const conversation = signal("");
export const left = signal<NaiveSide>(silence);
export const right = signal<Side>(empty);
export const stream = signal<StreamState>({ is: "connecting" });

/** How long both bots think about an answer. */
export const thinkMs = signal(2_000);
/** The conversation's quiet window; null: as the server has it, which is not known before the first message. */
export const quietMs = signal<number | null>(null);

export const may = (role: string) =>
  computed(() => typeof session.value === "object" && session.value.roles.includes(role));
export const maySend = may("send");
export const mayRead = may("read");
export const mayOperate = may("operate");

/** Messages written in this page, which the naive bot has been given already. */
let ours = new Set<string>();
let watching = new AbortController();
/** Everything of the past is shown at once. */
let openedAt = 0;
/** Messages arrive in the order they were written. */
let sending: Promise<void> = Promise.resolve();

/** @throws ApiError */
export async function start(): Promise<void> {
  trouble.value = null;
  try {
    signedIn(await askSession());
  } catch (error) {
    trouble.value = messageOf(error);
  }
}

export function signedIn(who: Session | null): void {
  session.value = who ?? "none";
  if (who === null) return watching.abort();
  const named = decodeURIComponent(safely(location.hash.slice(1)));
  open(named === "" ? newId() : named);
}

export async function leave(): Promise<void> {
  await signOut();
  signedIn(null);
}

/** Begins with an empty page. */
export function startOver(): void {
  open(newId());
}

function open(id: string): void {
  watching.abort();
  watching = new AbortController();
  ours = new Set();
  openedAt = Date.now();
  conversation.value = id;
  left.value = silence;
  right.value = empty;
  quietMs.value = null;
  trouble.value = null;
  history.replaceState(null, "", `#${encodeURIComponent(id)}`);
  if (!mayRead.value) return;
  const { signal } = watching;
  void watch(
    id,
    (event) => {
      if (!signal.aborted) take(event);
    },
    (state) => {
      if (signal.aborted) return;
      stream.value = state;
      // The session is over: its key is gone, or its time.
      if (state.is === "refused" && state.error.status === 401) signedIn(null);
    },
    signal,
  );
}

/** How far this machine's clock is ahead of the server's, by the last event that was told as it happened. */
export function skewMs(): number {
  return skew;
}
let skew = 0;

function take(event: Event): void {
  if (event.seq === undefined) skew = Date.now() - Date.parse(event.at);
  const before = right.value;
  right.value = next(before, event);
  const entry = event.entry;
  if (right.value === before || entry === undefined) return;
  if (entry.kind === "message" && !ours.has(entry.id)) {
    const text = right.value.bubbles.find(({ id }) => id === entry.id)?.text ?? "";
    giveToNaive(entry.id, text, Date.parse(event.at));
  }
  if (entry.kind === "message" && quietMs.value === null) void learnQuiet(conversation.value);
  if (entry.kind === "tuned" && entry.tuning.quietMs !== undefined) quietMs.value = entry.tuning.quietMs;
}

async function learnQuiet(id: string): Promise<void> {
  const found = await look(id).catch(() => null);
  if (found !== null && id === conversation.value) quietMs.value ??= found.waits.quietMs;
}

function giveToNaive(id: string, text: string, at: number): void {
  const taken = heard(left.value, id, text, at);
  const number = taken.heard;
  const of = conversation.value;
  left.value = taken;
  // What is told from the log was answered long ago.
  const isPast = at < openedAt;
  const finish = (when: number) => {
    if (conversation.value === of) left.value = answered(left.value, id, number, text, when);
  };
  if (isPast) finish(at + thinkMs.value);
  else setTimeout(() => finish(Date.now()), thinkMs.value);
}

/** What the user wrote goes to both bots. */
export function write(text: string): void {
  const id = newId();
  const of = conversation.value;
  ours.add(id);
  right.value = wrote(right.value, id, text);
  giveToNaive(id, text, Date.now());
  const message = { id, text, thinkMs: thinkMs.value };
  sending = sending.then(async () => {
    try {
      await send(of, message);
      trouble.value = null;
    } catch (error) {
      if (conversation.value !== of) return;
      right.value = changed(right.value, id, { state: "failed" });
      trouble.value = `Not sent: ${messageOf(error)}`;
    }
  });
}

/** A typing event holds the window for a while; more often says nothing new. */
const typingEveryMs = 2_000;
let typedAt = 0;

/** Somebody is typing. */
export function typed(): void {
  const now = Date.now();
  // There is no window before the first message.
  if (right.value.heard === 0 || now - typedAt < typingEveryMs) return;
  typedAt = now;
  typing(conversation.value);
}

export async function chooseQuiet(ms: number): Promise<void> {
  const before = quietMs.value;
  quietMs.value = ms;
  try {
    await tune(conversation.value, ms);
    trouble.value = null;
  } catch (error) {
    quietMs.value = before;
    trouble.value = `The quiet window stays as it was: ${messageOf(error)}`;
  }
}

export function inspectorAddress(id: string): string {
  return `${api.url("inspector/")}#/c/${encodeURIComponent(id)}`;
}

function messageOf(error: unknown): string {
  return error instanceof ApiError ? error.message : String(error);
}

function newId(): string {
  // `crypto.randomUUID` is there on secure origins only.
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return `page:${Array.from(bytes, (byte) => byte.toString(36).padStart(2, "0")).join("")}`;
}

/** A fragment that somebody mangled must not break the page. */
function safely(text: string): string {
  try {
    decodeURIComponent(text);
    return text;
  } catch {
    return "";
  }
}
