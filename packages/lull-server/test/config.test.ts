import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ConfigError, loadConfig } from "../src/config.ts";
import { lullOptions } from "../src/server.ts";
import { settings, variableOf } from "../src/settings.ts";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "lull-config-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}
async function refused(sources: Parameters<typeof loadConfig>[0]): Promise<string> {
  const error = await loadConfig(sources).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ConfigError);
  return (error as ConfigError).message;
}

describe("settings", () => {
  test("flag before environment before file before default", async () => {
    const cwd = await folder();
    await writeFile(join(cwd, "lull.config.json"), JSON.stringify({ quietMs: 1, leaseMs: 2_000, port: 3 }));
    const env = { LULL_QUIET_MS: "2", LULL_PORT: "4" };
    const { config, origins } = await loadConfig({ cwd, env, flags: { quietMs: "3" } });
    expect([config.quietMs, config.port, config.leaseMs, config.demoMs]).toEqual([3, 4, 2_000, 2_000]);
    expect(origins).toMatchObject({ quietMs: "--quiet-ms", port: "LULL_PORT" });
  });

  test("the window's own words reach the engine", async () => {
    const cwd = await folder();
    const windowOf = async (env: Record<string, string>) =>
      lullOptions((await loadConfig({ cwd, env })).config).debounce;
    expect(await windowOf({})).toEqual({ quietMs: 6_000 });
    expect(await windowOf({ LULL_START_MS: "eager", LULL_ADAPTIVE: "on" })).toEqual({
      quietMs: 6_000,
      startMs: "eager",
      adaptive: true,
    });
    expect(await windowOf({ LULL_START_MS: "frugal" })).toEqual({ quietMs: 6_000, startMs: "frugal" });
    expect(await windowOf({ LULL_START_MS: "250" })).toEqual({ quietMs: 6_000, startMs: 250 });
    expect(await refused({ cwd, env: { LULL_START_MS: "soon" } })).toContain("or one of eager, frugal");
  });

  test("PORT and OPENAI_* stand in for ours", async () => {
    const cwd = await folder();
    const env = { PORT: "90", OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://x/v1" };
    const { config } = await loadConfig({ cwd, env });
    expect([config.port, config.modelKey, config.modelUrl]).toEqual([90, "k", "http://x/v1"]);
    expect((await loadConfig({ cwd, env: { ...env, LULL_PORT: "91" } })).config.port).toBe(91);
  });

  test("secrets come from files, without their last line break", async () => {
    const cwd = await folder();
    const file = join(cwd, "key");
    await writeFile(file, "s3cret\n");
    expect((await loadConfig({ cwd, env: { LULL_MODEL_KEY_FILE: file } })).config.modelKey).toBe("s3cret");
    expect(await refused({ cwd, env: { LULL_MODEL_KEY_FILE: file, LULL_MODEL_KEY: "x" } })).toContain("both set");
    expect(await refused({ cwd, env: { LULL_MODEL_KEY_FILE: join(cwd, "none") } })).toContain("cannot read");
  });

  test("a list's file may have one value a line", async () => {
    const cwd = await folder();
    const file = join(cwd, "keys");
    await writeFile(file, "a:send:0123456789abcdef\nb:read:0123456789abcdef\n");
    const { config } = await loadConfig({ cwd, env: { LULL_API_KEYS_FILE: file } });
    expect(config.apiKeys).toEqual(["a:send:0123456789abcdef", "b:read:0123456789abcdef"]);
  });

  test("a setting's former name works in all three places, with a warning; the present one wins", async () => {
    const cwd = await folder();
    const told = "is called stopTimeoutMs now (LULL_STOP_TIMEOUT_MS).";
    const byVariable = await loadConfig({ cwd, env: { LULL_SHUTDOWN_MS: "5" } });
    expect([byVariable.config.stopTimeoutMs, byVariable.warnings]).toEqual([5, [`LULL_SHUTDOWN_MS ${told}`]]);
    const byFlag = await loadConfig({ cwd, env: { LULL_STOP_TIMEOUT_MS: "7" }, flags: { shutdownMs: "6" } });
    expect([byFlag.config.stopTimeoutMs, byFlag.warnings]).toEqual([7, [`--shutdown-ms ${told}`]]);
    await writeFile(join(cwd, "lull.config.json"), JSON.stringify({ shutdownMs: 8 }));
    expect((await loadConfig({ cwd, env: {} })).config.stopTimeoutMs).toBe(8);
  });

  test("retention is given once, in days or in milliseconds", async () => {
    const cwd = await folder();
    expect(await refused({ cwd, env: { LULL_HISTORY_DAYS: "30", LULL_HISTORY_KEEP_MS: "5" } })).toContain("keep one");
    const { config } = await loadConfig({ cwd, env: { LULL_HISTORY_DAYS: "30" } });
    expect(lullOptions(config).history).toEqual({ keepMs: 30 * 86_400_000 });
  });

  test("an empty variable is an unset one", async () => {
    expect((await loadConfig({ cwd: await folder(), env: { LULL_PORT: "" } })).config.port).toBe(8080);
  });

  test.each(["json", "js", "mjs"])("reads lull.config.%s", async (ending) => {
    const cwd = await folder();
    await writeFile(join(cwd, "package.json"), '{"type":"module"}');
    const text = JSON.stringify({ stopWords: ["stop", "halt"] });
    await writeFile(join(cwd, `lull.config.${ending}`), ending === "json" ? text : `export default ${text};`);
    const { config, file } = await loadConfig({ cwd, env: {} });
    expect(config.stopWords).toEqual(["stop", "halt"]);
    expect(file).toContain(`lull.config.${ending}`);
  });

  test("unknown keys are refused, unknown variables are told, both with what was meant", async () => {
    const cwd = await folder();
    await writeFile(join(cwd, "lull.config.json"), JSON.stringify({ quietMS: 5 }));
    expect(await refused({ cwd, env: {} })).toContain('unknown key "quietMS". Did you mean quietMs?');
    const { warnings } = await loadConfig({ cwd: await folder(), env: { LULL_LEASE_MSS: "5" } });
    expect(warnings).toEqual(["LULL_LEASE_MSS is set but means nothing to this version. Did you mean LULL_LEASE_MS?"]);
  });

  test("all problems are told at once, with the bad value, never a secret's", async () => {
    const env = { LULL_PORT: "eighty", LULL_WHEN_BUSY: "wait", LULL_QUIET_MS: "-1" };
    const message = await refused({ cwd: await folder(), env });
    expect(message).toContain('LULL_PORT must be a whole number from 0 to 65535; got "eighty".');
    expect(message).toContain('LULL_WHEN_BUSY must be one of interrupt, queue, steer; got "wait".');
    expect(message).toContain('LULL_QUIET_MS must be a whole number from 0 to 315360000000; got "-1".');
  });

  test("two configuration files, a broken one and a missing one are refused", async () => {
    const cwd = await folder();
    await writeFile(join(cwd, "lull.config.json"), "{");
    expect(await refused({ cwd, env: {} })).toContain("lull.config.json");
    await writeFile(join(cwd, "lull.config.mjs"), "export default {}");
    expect(await refused({ cwd, env: {} })).toContain("keep one");
    expect(await refused({ cwd, env: {}, file: "none.json" })).toContain("none.json");
  });

  test("every setting has a variable of its own", () => {
    const names = Object.keys(settings).map(variableOf);
    expect(new Set(names).size).toBe(names.length);
    expect(variableOf("maxWaitMs")).toBe("LULL_MAX_WAIT_MS");
  });
});
