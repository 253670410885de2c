/**
 * Structured logs: JSON lines on stderr. Ids, numbers and codes only; texts of users never.
 *
 * @module
 */

import type { Logger as LullLogger } from "lull";
import { destination, pino } from "pino";
import type { Config } from "./settings.ts";

export type Logger = LullLogger;

export function createLogger(level: Config["logLevel"]): Logger {
  return pino(
    {
      level,
      base: { name: "lull-server", pid: process.pid },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
    },
    // Synchronous: the last lines before an exit are the ones that matter.
    destination({ fd: 2, sync: true }),
  );
}

/** For tests and embedding. */
export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
