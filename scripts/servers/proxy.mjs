// A TCP proxy that can go silent: connections stay open and nothing comes through, as when a cable is pulled.
import { connect, createServer } from "node:net";

/** @param {number} targetPort on loopback, like the proxy itself */
export async function startProxy(targetPort) {
  /** @type {Set<import("node:net").Socket>} */
  const sockets = new Set();
  let silent = false;
  const server = createServer((near) => {
    const far = connect(targetPort, "127.0.0.1");
    for (const [from, to] of /** @type {const} */ ([
      [near, far],
      [far, near],
    ])) {
      sockets.add(from);
      from.on("error", () => {});
      from.on("data", (chunk) => {
        if (!silent) to.write(chunk);
      });
      from.on("close", () => {
        sockets.delete(from);
        if (!silent) to.destroy();
      });
    }
  });
  /** @type {Promise<void>} */
  const listening = new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  await listening;
  return {
    port: /** @type {import("node:net").AddressInfo} */ (server.address()).port,
    /** From now on nothing passes, in connections old and new. */
    silence() {
      silent = true;
    },
    /** New connections work again; those of before stay silent until they are broken. */
    heal() {
      for (const socket of sockets) socket.removeAllListeners("data").resume();
      silent = false;
    },
    breakAll() {
      for (const socket of sockets) socket.destroy();
    },
    async end() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
