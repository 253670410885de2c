/**
 * lull: hears the user out and answers once.
 *
 * @example
 * import { Lull, memory } from "lull";
 * const lull = new Lull({ store: memory(), respond: (turn) => `You said: ${turn.text}` });
 * await lull.start();
 * await lull.receive("telegram:42", { id: "m1", text: "hi" });
 *
 * @module
 */

export type { AttemptHandle, AttemptStatus, Begun, Within } from "./attempt.ts";
export { systemClock } from "./clock.ts";
export type { AttemptRef } from "./elsewhere.ts";
export { LullError, type LullErrorCode, lullErrorCodes } from "./errors.ts";
export type { EventType, LullEvent } from "./events.ts";
export type {
  Changed,
  HandoffCall,
  HumanReplyCall,
  Incoming,
  OperatorCall,
  OutgoingMessage,
  Received,
} from "./intake.ts";
// What every bot uses
export { type Edit, Lull, type ReplyView } from "./lull.ts";
// Words
export type { Backlog, ConversationId, Input, Json, JsonObject, LogEntry, Part, PartState } from "./model.ts";
export {
  blank,
  type ConversationRecord,
  type Limits,
  type Outcomes,
  type ProtocolEvent,
  recordSchema,
  type Step,
} from "./model.ts";
// Settings
export {
  type Debounce,
  defaults,
  type Logger,
  type LullOptions,
  type Preset,
  presets,
  type WhenBusy,
} from "./options.ts";
// For those who write channels, clocks and stores
export type * from "./ports.ts";
export { maxSkewMs } from "./ports.ts";
// The protocol itself, for those who want to check it
export { apply } from "./protocol.ts";
export { redacted } from "./redact.ts";
export type { Report } from "./report.ts";
export { memory } from "./stores/memory/index.ts";
export {
  type Answer,
  type AttemptOutcome,
  type CrossedReply,
  type EffectView,
  type ModelResult,
  type OnceContext,
  type OnceOptions,
  type PartLike,
  type Respond,
  type Responded,
  type Turn,
  textOf,
} from "./turn.ts";
export type { ConversationState, ConversationView } from "./view.ts";
export { inOrder, inputsOf, keepFrom, tailFrom, wakeAt } from "./window.ts";
export type { TuneCall } from "./wishes.ts";
