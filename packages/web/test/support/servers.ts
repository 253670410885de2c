/**
 * Real `lull serve` processes for pages, and what may stand before them.
 *
 * @module
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, onTestFinished } from "vitest";
import {
  openScene,
  type Scene,
  type SceneOptions,
  type ServerProcess,
} from "../../../lull-server/test/support/processes.ts";

export { type Entry, eventually, type Scene, type ServerProcess } from "../../../lull-server/test/support/processes.ts";

/** The demo responder and events, as `npx lull serve` has them, with shorter times. */
const demo = { LULL_RESPOND: "demo", LULL_DELIVER: "events", LULL_DEMO_MS: "700", LULL_QUIET_MS: "1500" };

/**
 * A folder with one SQLite file for a test file; `start(name)` starts a server on it. All are ended after the file's tests.
 */
export function useServers(settings: Record<string, string> = {}, options: Omit<SceneOptions, "settings"> = {}) {
  let opened: Promise<Scene> | undefined;
  afterAll(async () => {
    await (await opened)?.close();
  });
  const scene = () => {
    opened ??= openScene({ ...options, settings: { ...demo, ...settings } });
    return opened;
  };
  return {
    scene,
    start: async (name: string, own: Record<string, string> = {}) => (await scene()).start(name, own),
  };
}

/** The same for one test. `start` it within that. */
export async function openServers(
  settings: Record<string, string> = {},
  options: Omit<SceneOptions, "settings"> = {},
): Promise<Scene> {
  const scene = await openScene({ ...options, settings: { ...demo, ...settings } });
  onTestFinished(() => scene.close());
  return scene;
}

/**
 * A reverse proxy that serves a server below a path, as nginx does with `location /tools/lull/ { proxy_pass …/; }`.
 * @returns The address of the path, ending with a slash.
 */
export function startSubPath(target: string, path = "/tools/lull/"): Promise<string> {
  return startProxy(() => target, path);
}

/**
 * A load balancer that hands everything to the first server that runs.
 * @returns Its address, ending with a slash.
 */
export function startFailover(servers: readonly ServerProcess[]): Promise<string> {
  return startProxy(() => servers.find((server) => server.isRunning())?.url, "/");
}

async function startProxy(target: () => string | undefined, path: string): Promise<string> {
  const server = createServer((incoming: IncomingMessage, outgoing: ServerResponse) => {
    const asked = incoming.url ?? "/";
    const to = target();
    if (!asked.startsWith(path) || to === undefined) {
      outgoing.writeHead(to === undefined ? 502 : 404).end();
      return;
    }
    const forwarded = request(
      new URL(asked.slice(path.length - 1), to),
      { method: incoming.method, headers: incoming.headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
        answer.on("error", () => outgoing.destroy());
      },
    );
    forwarded.on("error", () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
    outgoing.on("close", () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
}
