/**
 * Proof you can run yourself: virtual time, and what checks bots, stores and the protocol with it.
 *
 * @module
 */

// Virtual time
export { dice, settled, type VirtualClock, type VirtualClockOptions, virtualClock } from "./clock.ts";
