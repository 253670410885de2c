import { ConfigError, loadConfig, type Sources } from "../config.ts";
import { silent } from "../log.ts";
import { migrateStore } from "../store.ts";
import { CliError } from "./client.ts";

/** `lull migrate`: for deploys whose servers may not change tables. Says what it did; 0 also when there was nothing. */
export async function migrate(sources: Sources): Promise<void> {
  try {
    const { config } = await loadConfig(sources);
    const { title, done } = await migrateStore(config, silent);
    if (done === null) console.log(`${title}: nothing to do; this store makes its tables when it is opened`);
    else if (done.from === done.to) console.log(`${title}: up to date, version ${done.to}`);
    else console.log(`${title}: brought from version ${done.from} to ${done.to}`);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new CliError(error.problems.map((problem) => `lull: ${problem}`).join("\n"), 2);
  }
}
