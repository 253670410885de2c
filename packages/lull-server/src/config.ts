/**
 * Reads the settings: flag before environment before configuration file before default. Everything wrong is
 * collected and reported at once, naming where it came from; values of secrets are never shown.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { access, readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { readBots } from "./bots/settings.ts";
import {
  type Config,
  flagOf,
  mayBeFile,
  type SettingName,
  type SettingSpec,
  settingNames,
  settings,
  variableOf,
} from "./settings.ts";

/** What a person has to repair before the server can start. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

export interface Sources {
  /** Values of flags by setting name, as typed. */
  flags?: Partial<Record<string, string>>;
  env?: Record<string, string | undefined>;
  /** Where `lull.config.*` is looked for. Default: the working directory. */
  cwd?: string;
  /** An explicit configuration file (`--config`, `LULL_CONFIG`). */
  file?: string;
}

export interface Loaded {
  config: Config;
  /** Where each setting that is not a default came from. */
  origins: Partial<Record<SettingName, string>>;
  /** Worth telling, but not a reason to refuse: unknown `LULL_*` variables. */
  warnings: string[];
  /** The configuration file that was read, or null. */
  file: string | null;
}

/** Variables of ours that are no settings: used by the command line's client side and to find the file. */
const otherVariables = ["LULL_CONFIG", "LULL_URL", "LULL_KEY", "LULL_BOT"];
const formerNames = settingNames.flatMap((name) => (settings[name] as SettingSpec).formerly ?? []);
const fileNames = ["lull.config.json", "lull.config.js", "lull.config.mjs"];

/**
 * @throws ConfigError with every problem found.
 */
export async function loadConfig(sources: Sources = {}): Promise<Loaded> {
  const env = sources.env ?? process.env;
  const cwd = sources.cwd ?? process.cwd();
  const problems: string[] = [];
  const warnings: string[] = [];
  const file = await findFile(sources.file ?? (env.LULL_CONFIG || undefined), cwd);
  const fromFile = file === null ? {} : await readConfigFile(file);
  for (const key of Object.keys(fromFile))
    if (!Object.hasOwn(settings, key) && !formerNames.includes(key) && key !== "bots")
      problems.push(`${file}: unknown key ${JSON.stringify(key)}.${suggestion(key, [...settingNames, "bots"])}`);
  warnings.push(...unknownVariables(env));

  const config: Record<string, unknown> = {};
  const origins: Partial<Record<SettingName, string>> = {};
  for (const name of settingNames) {
    const spec: SettingSpec = settings[name];
    const look = (as: string) => find(as, spec, sources.flags ?? {}, env, fromFile, file, problems);
    const current = look(name);
    const former = spec.formerly === undefined ? null : look(spec.formerly);
    if (former !== null) warnings.push(`${former.origin} is called ${name} now (${variableOf(name)}).`);
    const found = current ?? former;
    if (found === null) {
      config[name] = spec.kind === "list" ? [...((spec.default as readonly string[] | undefined) ?? [])] : spec.default;
      continue;
    }
    const checked = check(spec, found.value);
    if ("rule" in checked)
      problems.push(
        `${found.origin} must be ${checked.rule}; got ${spec.secret ? "a value that is not" : show(found.value)}.`,
      );
    else {
      config[name] = checked.value;
      origins[name] = found.origin;
    }
  }
  if (config.historyDays !== undefined && config.historyKeepMs !== undefined)
    problems.push("historyDays and historyKeepMs are both set; keep one.");
  if (fromFile.bots !== undefined)
    config.bots = readBots(fromFile.bots, config as unknown as Config, `${file}: bots`, check, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return { config: config as unknown as Config, origins, warnings, file };
}

interface Found {
  value: unknown;
  origin: string;
}

function find(
  name: string,
  spec: SettingSpec,
  flags: Partial<Record<string, string>>,
  env: Record<string, string | undefined>,
  fromFile: Record<string, unknown>,
  file: string | null,
  problems: string[],
): Found | null {
  const flag = flags[name];
  if (flag !== undefined) return { value: flag, origin: `--${flagOf(name)}` };
  const variable = variableOf(name);
  // An empty variable is an unset one: compose files and CI write `NAME=` for "nothing".
  const direct = env[variable] || undefined;
  const path = mayBeFile(spec) ? env[`${variable}_FILE`] || undefined : undefined;
  if (direct !== undefined && path !== undefined)
    problems.push(`${variable} and ${variable}_FILE are both set; keep one.`);
  if (direct !== undefined) return { value: direct, origin: variable };
  if (path !== undefined) {
    try {
      return { value: readFileSync(path, "utf8").replace(/\r?\n$/, ""), origin: `${variable}_FILE` };
    } catch (error) {
      problems.push(`${variable}_FILE: cannot read ${JSON.stringify(path)}: ${(error as Error).message}.`);
      return null;
    }
  }
  for (const other of spec.also ?? []) if (env[other]) return { value: env[other], origin: other };
  if (Object.hasOwn(fromFile, name) && fromFile[name] !== undefined)
    return { value: fromFile[name], origin: `${file}: ${name}` };
  return null;
}

function check(spec: SettingSpec, value: unknown): { value: unknown } | { rule: string } {
  switch (spec.kind) {
    case "integer": {
      const least = spec.least ?? 0;
      const most = spec.most ?? Number.MAX_SAFE_INTEGER;
      if (spec.choices?.includes(value as string)) return { value };
      const words = spec.choices === undefined ? "" : `, or one of ${spec.choices.join(", ")}`;
      const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
      if (typeof number !== "number" || !Number.isInteger(number) || number < least || number > most)
        return { rule: `a whole number from ${least} to ${most}${words}` };
      return { value: number };
    }
    case "choice":
      return spec.choices?.includes(value as string) ? { value } : { rule: `one of ${spec.choices?.join(", ")}` };
    case "list": {
      const list = typeof value === "string" ? value.split(/[,\n]/).map((item) => item.trim()) : value;
      if (!Array.isArray(list) || list.some((item) => typeof item !== "string"))
        return { rule: "a list separated by commas or line breaks" };
      return { value: list.filter((item) => item !== "") };
    }
    case "string":
      return typeof value === "string" && value !== "" ? { value } : { rule: "a non-empty string" };
  }
}

function show(value: unknown): string {
  if (typeof value === "function") return "a function";
  return JSON.stringify(value) ?? String(value);
}

async function findFile(explicit: string | undefined, cwd: string): Promise<string | null> {
  if (explicit !== undefined) return resolve(cwd, explicit);
  const present: string[] = [];
  for (const name of fileNames) {
    try {
      await access(resolve(cwd, name));
      present.push(name);
    } catch {
      // Not there: the usual case.
    }
  }
  if (present.length > 1) throw new ConfigError([`Several configuration files (${present.join(", ")}); keep one.`]);
  return present[0] === undefined ? null : resolve(cwd, present[0]);
}

async function readConfigFile(path: string): Promise<Record<string, unknown>> {
  let value: unknown;
  try {
    value = path.endsWith(".json")
      ? JSON.parse(await readFile(path, "utf8"))
      : // Under a name of its own for each version: a module is read only once.
        ((await import(`${pathToFileURL(path).href}?at=${(await stat(path)).mtimeMs}`)) as { default?: unknown })
          .default;
  } catch (error) {
    throw new ConfigError([`${path}: ${(error as Error).message}`]);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ConfigError([
      `${path} must ${path.endsWith(".json") ? "hold" : "export as default"} an object such as { "quietMs": 3000 }.`,
    ]);
  return value as Record<string, unknown>;
}

/** A misspelt variable would silently be a default; so each `LULL_*` that means nothing is told. */
function unknownVariables(env: Record<string, string | undefined>): string[] {
  const known = [...otherVariables];
  for (const name of settingNames) {
    known.push(variableOf(name));
    const { formerly } = settings[name] as SettingSpec;
    if (formerly !== undefined) known.push(variableOf(formerly));
    if (mayBeFile(settings[name])) known.push(`${variableOf(name)}_FILE`);
  }
  return Object.keys(env)
    .filter((name) => name.startsWith("LULL_") && !known.includes(name))
    .sort()
    .map((name) => `${name} is set but means nothing to this version.${suggestion(name, known)}`);
}

/** ` Did you mean …?` when one known name is close; otherwise nothing. */
export function suggestion(name: string, known: readonly string[]): string {
  let best: string | null = null;
  let least = Math.max(2, Math.floor(name.length / 4)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best === null ? "" : ` Did you mean ${best}?`;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(
        Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)),
      );
    row = next;
  }
  return row[b.length] ?? 0;
}
