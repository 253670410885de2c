// What the scenarios of channels share: hearing through the rules every channel uses.
import { type ChannelEvent, type Heard, type HearRules, hear } from "../../src/channels/hear.ts";
import type { Process } from "./world.ts";

export function hears(
  process: Process,
  event: ChannelEvent,
  rules?: HearRules,
  conversation = "c",
): Promise<Heard["status"]> {
  return hear(process.lull, conversation, event, rules).then(({ status }) => status);
}
