/**
 * The explorer: the real protocol and the real worker, in every order of everything that can happen to them within
 * small budgets. See docs/proof.md for what that shows and what it does not.
 *
 * @module
 */
export { catalogue, configOf } from "./catalogue.ts";
export type { Act, ChannelKind, Config, FaultKind, InputKind, OperatorKind } from "./config.ts";
export { plain, shortLimits } from "./config.ts";
export type { Bounds, Explored, Found } from "./explorer.ts";
export { explore } from "./explorer.ts";
