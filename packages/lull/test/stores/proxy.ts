// A TCP proxy that can go silent: connections stay open and nothing comes through, as when a cable is pulled.
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export async function startProxy(targetPort: number) {
  const sockets = new Set<Socket>();
  let silent = false;
  const server = createServer((near) => {
    const far = connect(targetPort, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
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
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    /** From now on nothing passes, in connections old and new. */
    silence() {
      silent = true;
    },
    /** New connections work again; those of before stay silent if `stuck`, else they break. */
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
