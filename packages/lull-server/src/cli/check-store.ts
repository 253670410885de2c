/**
 * `lull check-store ./my-store.js`: the published store contract against a store of one's own, without a test runner.
 *
 * @module
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type ContractOptions, expect, type StoreFactory, type StoreUnderTest, storeContract } from "lull/testing";
import { CliError } from "./client.ts";
import { hasColour, paint, plain } from "./terminal.ts";

/** What the module exports: a factory, and what the store lacks. */
interface StoreModule {
  default?: unknown;
  createStore?: unknown;
  without?: ContractOptions["without"];
}

export interface CheckStoreOptions {
  write: (line: string) => void;
  colour: boolean;
  /** A check that takes longer has failed. */
  timeoutMs: number;
}

export interface CheckStoreResult {
  passed: number;
  leftOut: number;
  failed: string[];
}

const help = `The module exports, as its default or as createStore, a function that makes an empty store:

  export default ({ now }) => myStore({ now });                  // or { store, dispose }
  export const without = { "any-text": "stores texts as utf8" };  // what it lacks, and why; optional`;

export async function checkStore(path: string): Promise<void> {
  const result = await runCheckStore(await moduleAt(path), {
    write: (line) => console.log(line),
    colour: hasColour(process.stdout),
    timeoutMs: 60_000,
  });
  if (result.failed.length > 0) throw new CliError(`${result.failed.length} of the contract's checks failed.`);
  // Connections of the store may still be open.
  process.exit(0);
}

async function moduleAt(path: string): Promise<StoreModule> {
  try {
    return (await import(pathToFileURL(resolve(path)).href)) as StoreModule;
  } catch (error) {
    throw new CliError(`Cannot load ${path}: ${(error as Error).message}\n\n${help}`, 2);
  }
}

/** Runs the checks one after the other, and tells of each. */
export async function runCheckStore(module: StoreModule, options: CheckStoreOptions): Promise<CheckStoreResult> {
  const { write, timeoutMs } = options;
  const { green, red, yellow, dim } = paint(options.colour);
  const make = module.createStore ?? module.default;
  if (typeof make !== "function") throw new CliError(`There is no function to make a store with.\n\n${help}`, 2);
  const checks: { title: string; body: () => Promise<void> }[] = [];
  const test = (title: string, body: () => Promise<void>) => void checks.push({ title, body });
  const without = module.without ?? {};
  storeContract("store", factoryOf(make as StoreFactory), { test, expect }, { without });

  const result: CheckStoreResult = { passed: 0, leftOut: 0, failed: [] };
  for (const { title, body } of checks) {
    const name = title.replace(/^store: /, "");
    if (name.startsWith("left out")) {
      result.leftOut += 1;
      write(`${yellow("–")} ${name}`);
      continue;
    }
    const startedAt = performance.now();
    const error = await outcome(body, timeoutMs);
    const ms = Math.round(performance.now() - startedAt);
    if (error === null) {
      result.passed += 1;
      write(`${green("✓")} ${name}${ms > 100 ? dim(` ${ms} ms`) : ""}`);
    } else {
      result.failed.push(name);
      write(`${red("✗")} ${name}`);
      for (const line of error.split("\n").slice(0, 12)) write(red(`    ${plain(line)}`));
    }
  }
  const counts = [`${result.passed} passed`, `${result.failed.length} failed`, `${result.leftOut} left out`];
  write(`\n${counts.join(", ")}`);
  return result;
}

/** A store alone is as good as one with something to remove. */
function factoryOf(make: (options: { now: () => number }) => unknown): StoreFactory {
  return async (options) => {
    const made = (await make(options)) as StoreUnderTest | StoreUnderTest["store"] | null;
    if (typeof made !== "object" || made === null) throw new CliError("The factory returned no store.");
    return "store" in made ? made : { store: made };
  };
}

async function outcome(body: () => Promise<void>, timeoutMs: number): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((tell) => {
    timer = setTimeout(() => tell(`did not end within ${timeoutMs} ms`), timeoutMs);
  });
  try {
    return await Promise.race([body().then(() => null), late]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}
