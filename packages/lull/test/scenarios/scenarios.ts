// Every public bug report of rows.json, by kind and id.
import { control } from "./control.ts";
import { dupIn } from "./dup-in.ts";
import { dupOut } from "./dup-out.ts";
import { echo } from "./echo.ts";
import { hist } from "./hist.ts";
import { human } from "./human.ts";
import { keyId } from "./key-id.ts";
import { lease } from "./lease.ts";
import { lossIn } from "./loss-in.ts";
import { lossOut } from "./loss-out.ts";
import { mutate } from "./mutate.ts";
import { order } from "./order.ts";
import { orderOut } from "./order-out.ts";
import { proact } from "./proact.ts";
import { recover } from "./recover.ts";
import type { Scenarios } from "./scenario.ts";
import { scope } from "./scope.ts";
import { side } from "./side.ts";
import { specul } from "./specul.ts";
import { split } from "./split.ts";
import { stale } from "./stale.ts";
import { starve } from "./starve.ts";
import { stream } from "./stream.ts";
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
  SIDE: side,
  STREAM: stream,
  SPECUL: specul,
  "DUP-OUT": dupOut,
  "LOSS-OUT": lossOut,
  "ORDER-OUT": orderOut,
  HUMAN: human,
  CONTROL: control,
  PROACT: proact,
  ECHO: echo,
  HIST: hist,
  MUTATE: mutate,
  SCOPE: scope,
  SPLIT: split,
};
