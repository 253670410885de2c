// Every public bug report of rows.json, by kind and id.
import { dupIn } from "./dup-in.ts";
import { keyId } from "./key-id.ts";
import { lease } from "./lease.ts";
import { lossIn } from "./loss-in.ts";
import { order } from "./order.ts";
import { recover } from "./recover.ts";
import type { Scenarios } from "./scenario.ts";
import { stale } from "./stale.ts";
import { starve } from "./starve.ts";
import { timer } from "./timer.ts";

export const scenarios: Readonly<Record<string, Scenarios>> = {
  "DUP-IN": dupIn,
  "LOSS-IN": lossIn,
  LEASE: lease,
  TIMER: timer,
  STALE: stale,
  STARVE: starve,
  ORDER: order,
  "KEY-ID": keyId,
  RECOVER: recover,
};
