/**
 * The Chat SDK and its adapters claim a delivery before anything is stored: should the store then fail, the platform's
 * repetition is refused, and the message is lost. Behind this gate claims always succeed; what was seen is known by
 * lull, which remembers it together with the message.
 *
 * @module
 */
import type { StateAdapter } from "./shapes.ts";

/** Claims of a delivery, as the adapters name them. */
const claims = [/^dedupe:/, /:webhook-update:/];
/** "This delivery was handed over", asked when Slack repeats one. */
const delivered = /^slack:event-delivered:/;

/** The same state without early claims. Everything else is passed on. */
export function withoutClaims<S extends StateAdapter>(state: S): S {
  const gate: Partial<StateAdapter> = {
    async setIfNotExists(key, value, ttlMs) {
      return claims.some((claim) => claim.test(key)) || state.setIfNotExists(key, value, ttlMs);
    },
    async get(key) {
      return delivered.test(key) ? null : state.get(key);
    },
  };
  return new Proxy(state, {
    get(target, name) {
      const own = gate[name as keyof StateAdapter];
      if (own !== undefined) return own;
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
