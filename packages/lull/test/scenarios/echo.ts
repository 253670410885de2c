// ECHO: what the bot sent, or what became of it, is taken for input.
import type { Scenarios } from "./scenario.ts";

const echoes = { later: "channels: echoes, recognised by the platform's ids in the log" };

export const echo: Scenarios = {
  B158: echoes,
  B160: echoes,
  B161: { later: "channels: sent, delivered and read events settle the outbox and are no input" },
};
