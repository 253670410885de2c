// Virtual time is public: see src/testing/clock.ts.
export { dice, settled, type VirtualClock, virtualClock } from "../../src/testing/clock.ts";
