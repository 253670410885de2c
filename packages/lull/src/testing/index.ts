/**
 * Proof you can run yourself: virtual time, and what checks bots, stores and the protocol with it.
 *
 * @module
 */

// Virtual time
export { dice, settled, type VirtualClock, type VirtualClockOptions, virtualClock } from "./clock.ts";
export { expect } from "./expect.ts";
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
