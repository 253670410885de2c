/**
 * Events as Server-Sent Events: of one conversation, resumed by `Last-Event-ID`; of all, live only.
 *
 * @module
 */
import { Hono } from "hono";
import type { LullEvent } from "lull";
import { invalid, Problem, problemOf } from "../problem.ts";
import { idOf } from "./conversations.ts";
import type { Env, Limited } from "./deps.ts";
import { may } from "./guard.ts";
import { Query } from "./query.ts";
import { lullOf } from "./scope.ts";
import { bounded, eventStream, type Frame } from "./stream.ts";
import { eventView } from "./view.ts";

/** Live events a slow reader may fall behind before it is disconnected. */
const mostBehind = 1_000;

function frameOf(event: LullEvent): Frame {
  return { ...(event.seq === undefined ? {} : { id: event.seq }), event: event.type, data: eventView(event) };
}

async function* resumed(events: AsyncIterable<LullEvent>, after: number): AsyncGenerator<Frame> {
  // An id without data sets what a client resumes from, even if it loses the connection before any event.
  yield { id: after };
  for await (const event of events) yield frameOf(event);
}

async function* live(events: AsyncIterable<LullEvent>): AsyncGenerator<Frame> {
  for await (const event of events) yield { event: event.type, data: eventView(event) };
}

export function eventRoutes(deps: Limited): Hono<Env> {
  const { config } = deps;
  const app = new Hono<Env>();
  const read = may(deps, "read");
  let open = 0;

  /** Opens a stream; `source` is given a signal that aborts when the stream ends. */
  const stream = (request: Request, source: (signal: AbortSignal) => AsyncIterable<Frame>): Response => {
    if (open >= config.maxStreams)
      throw new Problem(503, "too-many-streams", `${open} event streams are open (maxStreams).`, { retryAfter: 5 });
    open += 1;
    deps.metrics.stream(1);
    const ended = new AbortController();
    return eventStream(source(ended.signal), {
      heartbeatMs: config.heartbeatMs,
      signal: AbortSignal.any([request.signal, deps.closing, ...(deps.replaced ? [deps.replaced] : [])]),
      onEnd: (error) => {
        if (error !== undefined) deps.log.warn({ code: problemOf(error).code }, "an event stream broke off");
        open -= 1;
        deps.metrics.stream(-1);
        ended.abort();
      },
    });
  };

  app.get("/v1/conversations/:id/events", read, async (c) => {
    const query = new Query(c, ["after"]);
    const header = c.req.header("last-event-id");
    if (header !== undefined && !/^\d{1,16}$/.test(header))
      throw invalid("last-event-id", "Last-Event-ID must be the seq of an event.");
    const id = idOf(c);
    // The header wins: a browser that reconnects sends it along with the original address.
    const asked = header === undefined ? query.whole("after", 0, Number.MAX_SAFE_INTEGER) : Number(header);
    const lull = lullOf(deps, c);
    const seq = (await lull.get(id))?.seq ?? 0;
    // A place beyond the log belongs to a conversation that was erased; what is there now is all new.
    const after = asked === undefined ? seq : asked > seq ? 0 : asked;
    return stream(c.req.raw, (signal) => resumed(lull.events(id, { after, signal }), after));
  });

  app.get("/v1/events", read, (c) => {
    new Query(c, []);
    return stream(c.req.raw, (signal) => live(bounded((push) => lullOf(deps, c).on(push), mostBehind, signal)));
  });

  return app;
}
