/**
 * Conversations for the inspector to show, made through the API of a real server.
 *
 * @module
 */
import { type Entry, eventually, type Scene, type ServerProcess } from "./servers.ts";

/** Hands in messages, each as soon as the one before it was taken. */
export async function write(server: ServerProcess, conversation: string, ...messages: (string | object)[]) {
  for (const message of messages) {
    const body = { conversation, ...(typeof message === "string" ? { text: message } : message) };
    await call(server, "POST", "/v1/messages", body);
  }
}

/** @param path within the conversation, such as `/handoff` */
export function act(server: ServerProcess, conversation: string, path: string, body: object = {}) {
  return call(server, "POST", `/v1/conversations/${encodeURIComponent(conversation)}${path}`, body);
}

/** A call of the API. @throws when it is refused. */
export async function call(server: ServerProcess, method: string, path: string, body: object): Promise<void> {
  const response = await fetch(server.url + path, {
    method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
}

/** Until the log has such an entry; resolves to it. */
export function logged(
  scene: Scene,
  server: ServerProcess,
  conversation: string,
  kind: string,
  fits: (entry: Entry) => boolean = () => true,
): Promise<Entry> {
  return eventually(
    `an entry ${kind} in ${conversation}`,
    async () => (await scene.log(server, conversation)).find((entry) => entry.kind === kind && fits(entry)) ?? null,
    60_000,
  );
}

/** Two messages, the second of which discards the answer to the first; answered once. Needs LULL_START_MS well below LULL_QUIET_MS. */
export async function interrupted(scene: Scene, server: ServerProcess, conversation: string): Promise<void> {
  await write(server, conversation, { text: "hi", author: "ada" });
  await logged(scene, server, conversation, "attempt");
  await write(server, conversation, { text: "my order is late", author: "ada" });
  await scene.rested(server, conversation, 60_000);
}
