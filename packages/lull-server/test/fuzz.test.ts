// Fuzz over HTTP: whatever is sent to any route, the answer is never our fault, names what is wrong, and when it says
// no, nothing was stored.
//
// LULL_FUZZ_SEED chooses another seed, LULL_FUZZ_TIMES multiplies the runs.
import fc from "fast-check";
import { expect, it } from "vitest";
import { testApp } from "./support/app.ts";

const seed = Number(process.env.LULL_FUZZ_SEED ?? 20_260_105);
const times = Number(process.env.LULL_FUZZ_TIMES ?? 1);
console.log(`fuzz: LULL_FUZZ_SEED=${seed}`);

/** Bounded by time as well: a slow machine tries less. */
const runs = (numRuns: number) => ({
  seed,
  numRuns: Math.ceil(numRuns * times),
  interruptAfterTimeLimit: 12_000 * times,
  markInterruptAsFailure: false,
});
const patience = 20_000 * times;

const one = "/v1/conversations/:id";
const routes = [
  ["POST", "/v1/messages"],
  ["PATCH", `${one}/messages/:message`],
  ["DELETE", `${one}/messages/:message`],
  ...["typing", "flush", "send", "handoff", "human-replies", "resume", "reset", "retry"].map((verb) => [
    "POST",
    `${one}/${verb}`,
  ]),
  ["DELETE", one],
] as const;

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.string({ maxLength: 10 }),
  fc.constantFrom(
    "",
    ".",
    "..",
    "\0",
    "\ufeff",
    "__proto__",
    "constructor",
    "m1",
    "🦀",
    "a/b",
    "a?b#c",
    "%2e%2e",
    "e\u0301",
  ),
  fc.nat(700).map((length) => "x".repeat(length)),
);
const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown[]>(
    null,
    true,
    -1,
    0,
    1.5,
    1e300,
    2 ** 53,
    "",
    [],
    {},
    [[]],
    "1970-01-01T00:00:00Z",
    "+275760-09-13T00:00:00.001Z",
  ),
);
const part = fc.oneof(
  anyText,
  fc.record(
    {
      type: fc.constantFrom("text", "file", "data", "odd"),
      text: anyText,
      mediaType: anyText,
      url: anyText,
      ref: odd,
      data: odd,
    },
    { requiredKeys: ["type"] },
  ),
  odd,
);
/** Every field that some route knows, with what it may hold and what it must not. */
const fields: Record<string, fc.Arbitrary<unknown>> = {
  conversation: anyText,
  id: anyText,
  text: anyText,
  parts: fc.array(part, { maxLength: 3 }),
  author: anyText,
  metadata: fc.dictionary(anyText, fc.jsonValue({ maxDepth: 1 })),
  address: fc.jsonValue({ maxDepth: 2 }),
  quietMs: fc.integer({ min: -10, max: 100_000 }),
  incomplete: fc.boolean(),
  sentAt: fc.date().map((date) => (Number.isNaN(date.getTime()) ? "never" : date.toISOString())),
  replyTo: anyText,
  on: fc.boolean(),
  forMs: fc.integer({ min: -10, max: 1e9 }),
  backlog: fc.constantFrom("answer", "context", "both"),
  by: anyText,
  upTo: fc.oneof(fc.integer(), anyText),
  when: fc.constantFrom("after-turn", "if-quiet", "now"),
  surprise: odd,
};
const names = Object.keys(fields);
const holding = (chosen: readonly string[]) =>
  fc.record(
    Object.fromEntries(chosen.map((name) => [name, fc.oneof({ arbitrary: fields[name] ?? odd, weight: 6 }, odd)])),
  );
const object = fc.oneof(
  // What a route wants, more or less; what it does not want, now and then.
  fc.subarray(["by", "id", "backlog", "forMs", "on"], { maxLength: 2 }).chain(holding),
  fc
    .tuple(
      fc.constantFrom("text", "parts"),
      fc.subarray(["id", "author", "metadata", "quietMs", "incomplete", "sentAt"]),
    )
    .chain(([content, more]) => holding([content, ...more])),
  fc
    .tuple(fc.constantFrom("text", "parts"), fc.subarray(["address", "when", "upTo", "replyTo"], { maxLength: 2 }))
    .chain(([content, more]) => holding(["conversation", content, ...more])),
  fc.subarray(names).chain(holding),
);
const json = fc.oneof(
  { arbitrary: object, weight: 6 },
  { arbitrary: fc.array(object, { maxLength: 3 }), weight: 1 },
  odd,
);
const body = fc.oneof(
  { arbitrary: json.map((value) => JSON.stringify(value)), weight: 12 },
  { arbitrary: fc.constant(undefined), weight: 2 },
  // Texts that are no JSON, and JSON that stands for more than it is.
  { arbitrary: anyText, weight: 1 },
  { arbitrary: fc.tuple(json, fc.nat()).map(([value, at]) => JSON.stringify(value).slice(0, at % 40)), weight: 1 },
  {
    arbitrary: fc
      .nat(200)
      .map((levels) => `{"address":${"[".repeat(levels)}${"]".repeat(levels)},"text":"x","conversation":"deep"}`),
    weight: 1,
  },
  {
    arbitrary: fc.constantFrom(
      '{"text":"\\ud800","conversation":"c"}',
      '{"text":"a","text":"b"}',
      '{"__proto__":{"text":"x"}}',
      '{"text":1e999}',
    ),
    weight: 1,
  },
);
const headers = fc.oneof(
  { arbitrary: fc.constant({}), weight: 8 },
  fc.record({
    "content-type": fc.constantFrom(
      "text/plain",
      "application/json; charset=utf-8",
      "application/json;charset=latin1",
      "multipart/form-data",
      "",
    ),
  }),
);
const query = fc.oneof(
  { arbitrary: fc.constant(""), weight: 10 },
  fc.webQueryParameters().map((text) => `?${text}`),
);

async function everything(store: Awaited<ReturnType<typeof testApp>>["store"]): Promise<string> {
  const { conversations } = await store.list({ limit: 1_000 });
  return JSON.stringify(conversations.map(({ id, revision, seq }) => [id, revision, seq]));
}

it(
  "no request is answered with an error of ours, and none that is refused is stored",
  async () => {
    const { request, store, lull } = await testApp({ respond: null });
    const outcomes = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...routes),
        fc.oneof(anyText, fc.constantFrom("c", "d")),
        fc.oneof(anyText, fc.constant("m1")),
        body,
        headers,
        query,
        async ([method, route], conversation, message, text, more, rest) => {
          const path = route
            .replace(":id", encodeURIComponent(conversation))
            .replace(":message", encodeURIComponent(message));
          // Conversations stay few, so that looking at all of them stays cheap.
          const before = await everything(store);
          const response = await request(method, `${path}${rest}`, text, more as Record<string, string>);
          outcomes.set(response.status, (outcomes.get(response.status) ?? 0) + 1);
          const answer = await response.text();
          expect(response.status, answer).toBeLessThan(500);
          if (response.status < 400) {
            for (const { id } of (await store.list({ limit: 1_000 })).conversations.slice(20)) await lull.erase(id);
            return;
          }
          expect(response.headers.get("content-type")).toBe("application/problem+json");
          const problem = JSON.parse(answer);
          expect(problem).toMatchObject({
            status: response.status,
            code: expect.stringMatching(/^[a-z-]+$/),
            detail: expect.any(String),
          });
          if (response.status === 400) expect(problem.field).toEqual(expect.any(String));
          expect(await everything(store)).toBe(before);
        },
      ),
      runs(2_500),
    );
    // It would prove little if all were refused, or none.
    const taken = [...outcomes].filter(([status]) => status < 300).reduce((sum, [, count]) => sum + count, 0);
    const refused = [...outcomes].filter(([status]) => status >= 400).reduce((sum, [, count]) => sum + count, 0);
    expect(Math.min(taken, refused) * 20).toBeGreaterThan(taken + refused);
  },
  patience,
);

it(
  "a batch is stored whole or not at all",
  async () => {
    const { request, store, lull } = await testApp({ respond: null });
    const good = fc.record({ conversation: fc.constantFrom("a", "b", "c"), text: anyText });
    const batch = fc.array(fc.oneof({ arbitrary: good, weight: 5 }, object), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(batch, async (messages) => {
        const before = await everything(store);
        const response = await request("POST", "/v1/messages", messages);
        expect([202, 400, 429]).toContain(response.status);
        if (response.status !== 202) {
          expect(await everything(store)).toBe(before);
          return;
        }
        const answers = (await response.json()) as { status: string }[];
        expect(answers.map(({ status }) => status)).toEqual(
          messages.map(() => expect.stringMatching(/^(accepted|duplicate)$/)),
        );
        for (const { id } of (await store.list({ limit: 1_000 })).conversations) await lull.erase(id);
      }),
      runs(500),
    );
  },
  patience,
);

it(
  "no question about conversations is answered with an error of ours",
  async () => {
    const { request } = await testApp({ respond: null });
    await request("POST", "/v1/messages", { conversation: "c", id: "m1", text: "hi" });
    const paths = [
      "/v1/conversations",
      one,
      `${one}/log`,
      `${one}/explain`,
      "/healthz",
      "/readyz",
      "/metrics",
      "/openapi.json",
    ];
    const values = fc.oneof(anyText, fc.integer().map(String), fc.constantFrom("true", "false", "1e3", "٣", "-0"));
    const questions = fc.dictionary(
      fc.constantFrom("after", "limit", "prefix", "active", "parked", "handedOff", "from", "before", "odd"),
      values,
      { maxKeys: 3 },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...paths),
        fc.oneof(anyText, fc.constant("c")),
        questions,
        async (path, id, asked) => {
          const target = `${path.replace(":id", encodeURIComponent(id))}?${new URLSearchParams(asked)}`;
          const response = await request("GET", target);
          const answer = await response.text();
          expect(response.status, `${target}: ${answer}`).toBeLessThan(500);
          if (response.status >= 400)
            expect(JSON.parse(answer)).toMatchObject({ code: expect.any(String), field: expect.any(String) });
        },
      ),
      runs(1_000),
    );
  },
  patience,
);
