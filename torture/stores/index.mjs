// The stores that can be tortured. Another one is another file like sqlite.mjs, and a line here.
/**
 * @typedef {object} Prepared
 * @property {string} place   what a worker needs to open the store: a path or an address
 * @property {(random: import("../random.mjs").Dice) => Promise<string | void>} cut  the store stops answering (in the
 *   supervisor); resolves to the kind of outage where there are several
 * @property {() => Promise<void>} restore  and answers again
 * @property {() => Promise<boolean>} [held]  whether somebody has kept all others from writing for a while now: with a
 *   file, a process that was frozen in the middle of a transaction
 * @property {() => Promise<void>} close
 *
 * @typedef {object} StoreAdapter
 * @property {string} name
 * @property {(folder: string) => Promise<Prepared>} prepare  an empty store; `folder` is the run's own
 * @property {(place: string, lib: (path: string) => string) => Promise<unknown>} open  in a worker; `lib` finds a
 *   file of the built library
 */

/**
 * Loaded when asked for: a worker that starts every other second has no time for other stores' clients.
 * @type {Record<string, () => Promise<StoreAdapter>>}
 */
export const stores = {
  sqlite: async () => (await import("./sqlite.mjs")).sqlite,
  postgres: async () => (await import("./postgres.mjs")).postgres,
  redis: async () => (await import("./redis.mjs")).redis,
  "redis-cluster": async () => (await import("./redis-cluster.mjs")).redisCluster,
};
