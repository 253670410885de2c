/**
 * Proof you can run yourself: virtual time, and what checks bots, stores and the protocol with it.
 *
 * @module
 */

// Virtual time
export { dice, settled, type VirtualClock, type VirtualClockOptions, virtualClock } from "./clock.ts";
export { expect } from "./expect.ts";
// Explorer
export {
  type Act,
  type Bounds,
  type ChannelKind,
  type Config,
  catalogue,
  configOf,
  type Explored,
  explore,
  type FaultKind,
  type Found,
  type InputKind,
  type OperatorKind,
  plain,
  shortLimits,
} from "./explorer/index.ts";
// Platforms on loopback, for those who write channels
export {
  type ApiCall,
  type DiscordDouble,
  type DiscordMessage,
  type DoubleOptions,
  discordDouble,
  type Mood,
  type OnScreen,
  type PlatformDouble,
  type Receiver,
  type SlackDouble,
  type SlackMessage,
  slackDouble,
  type TelegramDouble,
  type TelegramMessage,
  telegramDouble,
  type WebhookPost,
  type WhatsAppDouble,
  type WhatsAppMessage,
  whatsappDouble,
} from "./platforms/index.ts";
// For those who write bots
export {
  type Bench,
  type BenchRespond,
  type BurstStep,
  type Replay,
  type ReplayedAttempt,
  type ReplayedEffect,
  type ReplayedReply,
  type ReplayOptions,
  replayBurst,
} from "./replay/index.ts";
export { type RecordedAttempt, type ReplayedReport, replayReport } from "./replay/report.ts";
// Simulator
export {
  type Figures,
  type MakeStore,
  type Plan,
  type Profile,
  type RestartStore,
  report,
  type Simulated,
  type SimulateOptions,
  type Step,
  shrinkFailure,
  simulate,
  simulatePlan,
  type Violation,
} from "./simulator/index.ts";
// For those who write stores
export {
  type ContractOptions,
  type ContractRunner,
  type Matchers,
  type StoreCapability,
  type StoreFactory,
  type StoreUnderTest,
  storeContract,
} from "./store-contract.ts";
export { type Lognormal, type TypingParameters, typingParameters } from "./typing.ts";
