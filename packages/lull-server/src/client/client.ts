/**
 * The typed client: every operation of the OpenAPI document by its method and path, and words for what is done most.
 *
 * @module
 */
import createClient, { type MaybeOptionalInit } from "openapi-fetch";
import { eventStream, type ServerEvent } from "./events.ts";
import { LullProblem, problemOf } from "./problem.ts";
import type { components, paths } from "./schema.ts";

type Schemas = components["schemas"];
export type Message = Schemas["Message"];
export type Accepted = Schemas["Accepted"];
export type Rejected = Schemas["Rejected"];
export type Reply = Schemas["Reply"];

export interface ClientOptions {
  /** Where the server is, without `/v1`: `http://127.0.0.1:8080`. */
  url: string;
  /** A key of the server's (`apiKeys`); it needs none on loopback. A secret: it does not belong into web pages. */
  key?: string;
  /** Which of several bots is meant, where the key is good for all. Default: the server's own. */
  bot?: string;
  /** Headers of every request. */
  headers?: Record<string, string>;
  /** Stands in for `fetch`: a proxy, tracing, a test. */
  fetch?: (request: Request) => Promise<Response>;
}

export interface CallOptions {
  signal?: AbortSignal;
}

export interface EventOptions extends CallOptions {
  /** Events after this seq: what `seq` of an earlier event, of a conversation or of a history was. Default: from now on. */
  after?: number;
  /** Milliseconds without a sign of life after which the connection is made anew. Default 90,000; heartbeats come every 15,000. */
  silentMs?: number;
}

type Method = "get" | "post" | "put" | "patch" | "delete";

/** Answers that are no JSON: streams are read with `events`, metrics by others. */
type NoJson = { responses: { 200: { content: { "text/plain": string } | { "text/event-stream": string } } } };

type PathsOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [K in M]: { responses: object } }
    ? paths[P][M & keyof paths[P]] extends NoJson
      ? never
      : P
    : never;
}[keyof paths];

type Answer<Operation> = Operation extends { responses: infer Responses }
  ? {
      [Status in keyof Responses & (200 | 202 | 204)]: Responses[Status] extends {
        content: { "application/json": infer Body };
      }
        ? Body
        : undefined;
    }[keyof Responses & (200 | 202 | 204)]
  : never;

/**
 * One method of HTTP. Resolves to the body of a 2xx answer (undefined where there is none), rejects with `LullProblem`.
 * Paths, parameters, bodies and answers are those of the OpenAPI document; `signal` and all else `fetch` takes goes beside them.
 */
export type Call<M extends Method> = <P extends PathsOf<M>>(
  path: P,
  ...init: undefined extends MaybeOptionalInit<paths[P], M & keyof paths[P]>
    ? [init?: MaybeOptionalInit<paths[P], M & keyof paths[P]>]
    : [init: MaybeOptionalInit<paths[P], M & keyof paths[P]>]
) => Promise<Answer<paths[P][M & keyof paths[P]]>>;

export interface LullClient {
  get: Call<"get">;
  post: Call<"post">;
  put: Call<"put">;
  patch: Call<"patch">;
  delete: Call<"delete">;
  /**
   * Hands in one message; resolves once it is durable. With an `id` the call may be repeated: it stays one message.
   * @throws LullProblem `full` (429), `invalid-argument` …
   */
  receive(message: Message, options?: CallOptions): Promise<Accepted>;
  /** Hands in up to 1,000 messages, in order: one result each. Refused whole when one of them is not valid. */
  receiveAll(messages: Message[], options?: CallOptions): Promise<(Accepted | Rejected)[]>;
  /**
   * Hands in one message and waits for the reply that covers it, for at most `waitSeconds` (default 60, at most 300). No reply
   * by then: resolves to what `receive` would have; the reply comes all the same, as an event.
   */
  ask(message: Message, options?: CallOptions & { waitSeconds?: number }): Promise<Reply | Accepted>;
  /**
   * A conversation's events. Nothing is lost and nothing doubled: a connection that ends is opened anew, behind the last event
   * that was given out. It ends when `signal` aborts, or when the loop is left.
   * @throws LullProblem where asking again is of no use: no such right, no such bot.
   */
  events(conversation: string, options?: EventOptions): AsyncIterable<ServerEvent>;
  /** All conversations' events, live only: what happens while there is no connection is not seen. */
  allEvents(options?: Omit<EventOptions, "after">): AsyncIterable<ServerEvent>;
}

/** @throws TypeError if `url` is none. */
export function lullClient(options: ClientOptions): LullClient {
  const baseUrl = new URL(options.url).href.replace(/\/+$/, "");
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const headers: Record<string, string> = {
    ...options.headers,
    ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }),
    ...(options.bot === undefined ? {} : { "lull-bot": options.bot }),
  };
  const http = createClient<paths>({ baseUrl, headers, fetch: send });
  http.use({
    onResponse: async ({ response }) => {
      if (!response.ok) throw await problemOf(response);
    },
  });

  // biome-ignore lint/suspicious/noExplicitAny: one implementation for all paths; `Call` is what types it
  type Any = any;
  const unwrapped = <M extends Method>(call: Any): Call<M> =>
    (async (...init: Any) => (await call(...init)).data) as Any;

  const post = unwrapped<"post">(http.POST);
  const get = unwrapped<"get">(http.GET);
  const handIn = async (body: Message | Message[], { signal }: CallOptions, wait?: number) =>
    post("/v1/messages", {
      body,
      params: { query: wait === undefined ? {} : { wait } },
      ...(signal === undefined ? {} : { signal }),
    });

  const stream = (path: string, after: number | null, { signal, silentMs = 90_000 }: EventOptions) =>
    eventStream({
      open: (more, ended) => send(new Request(baseUrl + path, { headers: { ...headers, ...more }, signal: ended })),
      after,
      signal,
      silentMs,
    });

  async function* events(conversation: string, given: EventOptions = {}): AsyncGenerator<ServerEvent, void, undefined> {
    const after = given.after ?? (await seqOf(conversation, given.signal));
    if (after !== null) yield* stream(`/v1/conversations/${encodeURIComponent(conversation)}/events`, after, given);
  }

  /** Where "from now on" begins, so that a break before the first event loses nothing. Null: aborted meanwhile. */
  async function seqOf(id: string, signal: AbortSignal | undefined): Promise<number | null> {
    try {
      const init = { params: { path: { id } }, ...(signal === undefined ? {} : { signal }) };
      return (await get("/v1/conversations/{id}", init)).seq;
    } catch (error) {
      if (signal?.aborted === true) return null;
      if (error instanceof LullProblem && error.status === 404) return 0; // nobody has written yet
      throw error;
    }
  }

  return {
    get,
    post,
    put: unwrapped(http.PUT),
    patch: unwrapped(http.PATCH),
    delete: unwrapped(http.DELETE),
    receive: async (message, given = {}) => (await handIn(message, given)) as Accepted,
    receiveAll: async (messages, given = {}) => (await handIn(messages, given)) as (Accepted | Rejected)[],
    ask: async (message, given = {}) => (await handIn(message, given, given.waitSeconds ?? 60)) as Reply | Accepted,
    events,
    allEvents: (given = {}) => stream("/v1/events", null, given),
  };
}
