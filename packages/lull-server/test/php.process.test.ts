/** The bot in PHP, on PHP's own server, behind a real `lull serve`. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { listening } from "./support/platform.ts";
import { openScene, post } from "./support/processes.ts";

const folder = fileURLToPath(new URL("../../../examples/php/", import.meta.url));

/** `php -S` does not say which port it was given for 0. */
async function freePort(): Promise<number> {
  const probe = http.createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

test("a burst is one call and one answer; what lull did not sign is refused", async () => {
  const place = await openScene();
  onTestFinished(() => place.close());
  const address = `127.0.0.1:${await freePort()}`;
  const env = { LULL_WEBHOOK_SECRET: place.secrets[0] as string };
  const bot = await listening("php", ["-S", address, `${folder}bot.php`], env, /127\.0\.0\.1:(\d+)\) started/);
  const server = await place.start("a", { LULL_RESPOND: `${bot.url}/`, LULL_DELIVER: "events" });
  await post(server, "/v1/messages", { conversation: "me", text: "hi" });
  await post(server, "/v1/messages", { conversation: "me", text: 'my "order" is late – schön' });
  const response = await post(server, "/v1/messages?wait=15", { conversation: "me", text: "#1234" });
  expect(await response.json()).toMatchObject({
    status: "delivered",
    parts: [{ text: 'You wrote: hi / my "order" is late – schön / #1234' }],
  });
  expect(bot.said().match(/ Accepted/g)).toHaveLength(1);
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const headers = { "webhook-id": "x", "webhook-timestamp": timestamp, "webhook-signature": "v1,x" };
  expect((await fetch(bot.url, { method: "POST", headers, body: "{}" })).status).toBe(401);
  expect((await fetch(bot.url, { method: "POST", body: "{}" })).status).toBe(401);
});
