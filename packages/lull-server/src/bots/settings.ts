/**
 * The settings of several bots on one server, from the key `bots` of the configuration file. What a bot does not say
 * is as the server's own settings have it.
 *
 * @module
 */
import { presets } from "lull";
import { type Config, type SettingName, type SettingSpec, settings } from "../settings.ts";
import { botNameFault } from "./ids.ts";

/** What a bot may set for itself, besides `debounce` and `keys`. */
const own = [
  "respond",
  "deliver",
  "whenBusy",
  "system",
  "model",
  "modelUrl",
  "modelKey",
  "historyEntries",
  "demoMs",
  "fallback",
  "deliverTimeoutMs",
  "webhookSecret",
  "webhookAuthorization",
] as const satisfies readonly SettingName[];
const ownKeys = [...own, "debounce", "keys"];
const times = ["quietMs", "startMs", "maxWaitMs", "adaptive"] as const;

type Check = (spec: SettingSpec, value: unknown) => { value: unknown } | { rule: string };

/** Takes everything wrong down in `problems`. */
export function readBots(
  given: unknown,
  base: Config,
  origin: string,
  check: Check,
  problems: string[],
): Record<string, Config> {
  if (!isObject(given)) {
    problems.push(`${origin} must be an object such as { "shop": { "respond": "https://…" } }.`);
    return {};
  }
  const bots: Record<string, Config> = {};
  for (const [name, value] of Object.entries(given)) {
    const where = `${origin}.${name}`;
    const fault = botNameFault(name);
    if (fault !== null) problems.push(`${origin}: the name ${JSON.stringify(name)} ${fault}.`);
    else if (!isObject(value)) problems.push(`${where} must be an object.`);
    else bots[name] = readBot(value, base, where, check, problems);
  }
  return bots;
}

function readBot(
  given: Record<string, unknown>,
  base: Config,
  where: string,
  check: Check,
  problems: string[],
): Config {
  // Keys are bound to bots; a bot without any is reached by the server's own.
  const bot: Record<string, unknown> = { ...base, apiKeys: [], bots: undefined };
  const take = (name: SettingName, value: unknown, place: string): void => {
    const spec: SettingSpec = settings[name];
    const checked = check(spec, value);
    if ("value" in checked) bot[name] = checked.value;
    else problems.push(`${place} must be ${checked.rule}${spec.secret ? "" : `; got ${JSON.stringify(value)}`}.`);
  };
  for (const key of Object.keys(given))
    if (!ownKeys.includes(key))
      problems.push(`${where}: unknown key ${JSON.stringify(key)}; known: ${ownKeys.join(", ")}.`);
  for (const name of own) if (given[name] !== undefined) take(name, given[name], `${where}.${name}`);
  if (given.keys !== undefined) take("apiKeys", given.keys, `${where}.keys`);
  const { debounce } = given;
  if (typeof debounce === "string") {
    if (!Object.hasOwn(presets, debounce))
      problems.push(
        `${where}.debounce must be one of ${Object.keys(presets).join(", ")}, or an object with ${times.join(", ")}.`,
      );
    else
      Object.assign(bot, {
        quietMs: presets[debounce as keyof typeof presets].quietMs,
        startMs: undefined,
        maxWaitMs: undefined,
      });
  } else if (debounce !== undefined) readTimes(debounce, where, bot, take, problems);
  return bot as unknown as Config;
}

function readTimes(
  debounce: unknown,
  where: string,
  bot: Record<string, unknown>,
  take: (name: SettingName, value: unknown, place: string) => void,
  problems: string[],
): void {
  if (!isObject(debounce)) return void problems.push(`${where}.debounce must be a preset's name or an object.`);
  for (const key of Object.keys(debounce))
    if (!(times as readonly string[]).includes(key))
      problems.push(`${where}.debounce: unknown key ${JSON.stringify(key)}; known: ${times.join(", ")}.`);
  // A bot's own quiet does not go with the server's other times.
  Object.assign(bot, { startMs: undefined, maxWaitMs: undefined });
  for (const name of times) {
    const value = debounce[name];
    // As the library has it, or as the server's own setting.
    const asSetting = name === "adaptive" && typeof value === "boolean" ? (value ? "on" : "off") : value;
    if (value !== undefined) take(name, asSetting, `${where}.debounce.${name}`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
