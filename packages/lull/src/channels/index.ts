/**
 * What channels share: what each platform can do, receipts from errors, cutting long texts, hearing.
 *
 * @example
 * import { hear, receiptOf, splitParts } from "lull/channels";
 *
 * @module
 */
export { type ChannelEvent, type From, type Heard, type Hearing, type HearRules, hear, isEcho } from "./hear.ts";
export { type MergeOptions, type Merging, mergeConversations } from "./merge.ts";
export {
  cautiousTextLimit,
  type Platform,
  type PlatformName,
  platformOf,
  platforms,
  platformTable,
} from "./platforms.ts";
export { type Poller, type PollHealth, type PollOptions, poll } from "./poll.ts";
export { receiptOf } from "./receipt.ts";
export { fitting, sendText } from "./send.ts";
export { splitParts, splitText, textWithoutCuts } from "./split.ts";
