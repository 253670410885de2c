// The house rules: who may import whom, what only clock.ts may do, what no file may mention.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { blank, codeLines, imports } from "./support/source.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const src = join(root, "packages/lull/src");

const words = ["model", "window", "protocol", "errors", "events", "ports", "clock", "options"];
const performers = [...words, "worker", "intake", "alarms", "naps", "stop", "cell", "turn", "delivery"];

/**
 * The direction of imports, types included. A key is a file of src, or a folder whose children are strangers to
 * each other: "stores" stands for every stores/<name>/, and for the helpers beside them that they share. Every file
 * of src must have a place here.
 */
const mayImport: Record<string, readonly string[]> = {
  model: [],
  drafts: ["model"],
  pace: ["model"],
  tuning: ["model"],
  window: ["model", "drafts", "pace"],
  protocol: ["model", "drafts", "pace", "tuning", "window"],
  worker: ["model", "window", "protocol"],
  errors: ["model"],
  events: ["model"],
  audience: ["model", "events", "ports", "clock"],
  ports: ["model"],
  clock: ["model", "errors", "ports"],
  stores: ["model", "errors", "ports", "clock", "stop"],
  channels: ["model", "errors", "ports", "clock", "intake", "turn"],
  options: ["model", "window", "errors", "events", "ports", "clock", "turn", "pace"],
  intake: ["model", "errors", "ports", "clock", "options"],
  heap: [],
  stop: [],
  naps: ["ports", "clock", "heap"],
  alarms: ["model", "ports", "clock", "heap"],
  cell: ["model", "window", "protocol", "errors", "ports"],
  view: ["model", "window"],
  explain: ["model"],
  redact: [],
  report: ["model", "explain", "redact"],
  erase: ["model"],
  elsewhere: ["model"],
  wishes: ["model", "errors", "options", "intake"],
  turn: [...words, "worker", "intake", "elsewhere", "wishes", "stop"],
  delivery: [...words, "worker", "intake", "naps", "stop"],
  drafting: [...performers],
  streamed: [...performers],
  answer: [...performers, "streamed"],
  run: [...performers, "answer", "drafting"],
  engine: [...performers, "pace", "tuning", "run"],
  attempt: [...performers, "elsewhere", "answer", "engine"],
  lull: [
    ...performers,
    "audience",
    "tuning",
    "engine",
    "view",
    "explain",
    "redact",
    "report",
    "erase",
    "elsewhere",
    "attempt",
    "wishes",
  ],
  ai: [...words, "turn", "streamed", "protocol"],
  otel: [...words, "turn", "intake", "lull"],
  "chat-sdk": [...words, "turn", "lull", "intake", "channels"],
  // Sees everything, and nothing sees it.
  testing: [
    ...performers,
    "engine",
    "view",
    "explain",
    "redact",
    "report",
    "lull",
    "elsewhere",
    "attempt",
    "index",
    "stores",
    "channels",
  ],
  index: [
    ...performers,
    "engine",
    "view",
    "explain",
    "redact",
    "report",
    "lull",
    "elsewhere",
    "attempt",
    "stores",
    "channels",
    "wishes",
  ],
};
/** Optional peers: only these rooms may name them. */
const peers: Record<string, readonly string[]> = { ai: ["ai"], otel: ["@opentelemetry/api"] };
const foldersOfStrangers = ["stores", "channels"];
const pure = ["model", "drafts", "pace", "window", "protocol", "worker"];

const banned: Record<string, RegExp> = {
  "Date.now": /\bDate\s*\.\s*now\b/,
  "new Date() without an argument": /\bnew\s+Date\b(?!\s*\(\s*[^\s)])/,
  "performance.now": /\bperformance\s*\.\s*now\b/,
  "Math.random": /\bMath\s*\.\s*random\b/,
  setTimeout: /\bsetTimeout\b/,
  setInterval: /\bsetInterval\b/,
  randomUUID: /\brandomUUID\b/,
};

const sources = existsSync(src) ? walk(src).filter((path) => path.endsWith(".ts")) : [];

describe("the sources of lull", () => {
  it("are read", () => {
    if (sources.length > 0) expect(sources.map((path) => within(path))).toContain("model.ts");
  });

  it("import in one direction only", () => {
    expect(sources.flatMap((path) => importProblems(within(path), read(path)))).toEqual([]);
  });

  it("leave time, chance and timers to clock.ts", () => {
    const others = sources.filter((path) => within(path) !== "clock.ts");
    expect(others.flatMap((path) => bannedCalls(within(path), read(path)))).toEqual([]);
  });

  it("keep the protocol readable in one sitting", () => {
    const protocol = join(src, "protocol.ts");
    expect(existsSync(protocol) ? codeLines(read(protocol)) : 0).toBeLessThanOrEqual(400);
  });
});

describe("the tree", () => {
  const files = walk(root);

  it("mentions no path of one machine and no registry", () => {
    expect(files.length).toBeGreaterThan(10);
    const hosts = [
      /\bregistry\.(?:npmjs\.org|yarnpkg\.com)\b/,
      /"resolved":\s*"https?:/,
      /^\s*(?:@\w+:)?registry\s*=/m,
    ];
    const paths = ["work", "root", "Users"].map((top) => new RegExp(`(?<![\\w.~$}-])/${top}/`));
    const bad = [...hosts, ...paths, ...ownRegistry()];
    const found = files.flatMap((path) => {
      const text = read(path);
      return bad.filter((pattern) => pattern.test(text)).map((pattern) => `${relative(root, path)}: ${pattern}`);
    });
    expect(found).toEqual([]);
  });

  it("has no test that is left out or runs alone", () => {
    const tests = files.filter((path) => path.endsWith(".test.ts"));
    expect(tests.length).toBeGreaterThan(0);
    expect(tests.filter((path) => leavesOut(read(path))).map((path) => relative(root, path))).toEqual([]);
  });
});

describe("the rules themselves", () => {
  it("see through comments, strings, templates and regular expressions", () => {
    const calls = (source: string) => bannedCalls("x.ts", source).length;
    expect(calls("// Date.now()\n/* Math.random() */ 'setTimeout'; `setInterval`; /randomUUID/.test(x)")).toBe(0);
    expect(calls("const url = 'https://example.org'; const t = Date.now();")).toBe(1);
    expect(calls(["`a ", "$", "{f({ at: Date.now() })} setTimeout ", "$", "{Math.random()}`"].join(""))).toBe(2);
    expect(calls("a / b; performance.now(); c / d")).toBe(1);
    expect(calls("new Date(); new Date(); new Date;")).toBe(1);
    expect(calls("new Date(0); new Date(at)")).toBe(0);
    expect(blank("x = /[/'\"]/; y")).toBe("x = /     /; y");
    expect(codeLines("// a\n\n/* b\n */\nconst c = 1; // d\n")).toBe(1);
  });

  it("find every kind of import", () => {
    const source = `import a from "./a.ts";\nimport type { B }\n  from './b.ts';\nexport * from "./c.ts";
      import "./d.ts"; await import("./e.ts"); type F = import("./f.ts").F; // import "./g.ts"
      const text = 'from "./h.ts"'; Array.from("i");`;
    expect(imports(source)).toEqual(["./a.ts", "./b.ts", "./c.ts", "./d.ts", "./e.ts", "./f.ts"]);
  });

  it("refuse what they should refuse", () => {
    const refused = (file: string, specifier: string) => importProblems(file, `import {} from "${specifier}";`).length;
    expect(refused("protocol.ts", "./window.ts")).toBe(0);
    expect(refused("protocol.ts", "./ports.ts")).toBe(1);
    expect(refused("window.ts", "./protocol.ts")).toBe(1);
    expect(refused("worker.ts", "node:crypto")).toBe(1);
    expect(refused("engine.ts", "node:events")).toBe(0);
    expect(refused("engine.ts", "zod")).toBe(1);
    expect(refused("ai/messages.ts", "ai")).toBe(0);
    expect(refused("otel/index.ts", "ai")).toBe(1);
    expect(refused("engine.ts", "ai")).toBe(1);
    expect(refused("stores/a/index.ts", "../../ports.ts")).toBe(0);
    expect(refused("stores/a/index.ts", "./sql.ts")).toBe(0);
    expect(refused("stores/a/index.ts", "../codec.ts")).toBe(0);
    expect(refused("stores/codec.ts", "./shape.ts")).toBe(0);
    expect(refused("stores/codec.ts", "./a/index.ts")).toBe(1);
    expect(refused("stores/a/index.ts", "../b/index.ts")).toBe(1);
    expect(refused("stores/a/index.ts", "../../engine.ts")).toBe(1);
    expect(refused("turn.ts", "./delivery.ts")).toBe(1);
    expect(refused("surprise.ts", "./model.ts")).toBe(1);
    expect(leavesOut(["it", ".only('x', f)"].join(""))).toBe(true);
    expect(leavesOut(["describe", ".each([1]).skip ('x', f)"].join(""))).toBe(true);
  });
});

/**
 * "model.ts" lives in room "model", at desk "model"; "stores/memory/index.ts" in room "stores", at desk
 * "stores/memory"; "stores/codec.ts" in room "stores", at the desk they share, "stores".
 */
function place(file: string): { room: string; desk: string } {
  const [room = "", ...rest] = file.replace(/\.ts$/, "").split("/");
  const own = foldersOfStrangers.includes(room) && rest.length > 1;
  return { room, desk: own ? `${room}/${rest[0]}` : room };
}

function importProblems(file: string, source: string): string[] {
  const from = place(file);
  const allowed = mayImport[from.room];
  if (allowed === undefined) return [`${file} has no place in the house`];
  return imports(source).flatMap((specifier) => {
    if (!specifier.startsWith(".")) {
      if (specifier.startsWith("node:") && !pure.includes(from.room)) return [];
      if (peers[from.room]?.includes(specifier)) return [];
      return [`${file} imports ${specifier}`];
    }
    const to = place(posix.join(posix.dirname(file), specifier));
    const fine = to.room === from.room ? [from.desk, from.room].includes(to.desk) : allowed.includes(to.room);
    return fine ? [] : [`${file} imports ${specifier}`];
  });
}

function bannedCalls(file: string, source: string): string[] {
  const code = blank(source);
  return Object.entries(banned).flatMap(([name, pattern]) => (pattern.test(code) ? [`${file} uses ${name}`] : []));
}

function leavesOut(source: string): boolean {
  return /\.\s*(?:only|skip)\s*\(/.test(blank(source));
}

/** The registry npm is using right now, if it is not one of the public names. */
function ownRegistry(): RegExp[] {
  const url = process.env.npm_config_registry;
  if (url === undefined || !URL.canParse(url)) return [];
  return [new RegExp(new URL(url).host.replaceAll(".", "\\."))];
}

function within(path: string): string {
  return relative(src, path).split(sep).join("/");
}

function read(path: string): string {
  return readFileSync(path, "utf8");
}

function walk(folder: string): string[] {
  const leave = ["node_modules", "dist", "coverage", "data", ".git"];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return leave.includes(entry.name) ? [] : walk(path);
    const small = entry.isFile() && statSync(path).size < 2_000_000;
    return small && !/\.(?:db|png|jpg|gif|ico|woff2?|tgz)(?:-\w+)?$/.test(entry.name) ? [path] : [];
  });
}
