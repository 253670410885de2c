/**
 * Threats that show only in what a whole process writes; see threats.test.ts and docs/security.md.
 */
import { spawnSync } from "node:child_process";
import net from "node:net";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { openScene, post, sleep } from "./support/processes.ts";

const bin = fileURLToPath(new URL("../dist/cli/bin.js", import.meta.url));

test("log injection: whatever is sent, a log line is one JSON object of ours, without texts", async () => {
  const forged = '\n{"level":50,"msg":"FORGED"}\r\n\u001b[2J\u2028';
  const place = await openScene({
    settings: { LULL_QUIET_MS: "50", LULL_START_MS: "0", LULL_MAX_FAILURES: "2", LULL_LOG_LEVEL: "debug" },
    model: (call) =>
      call.conversation.startsWith("fails") ? { status: 500, body: forged } : { body: { text: "PRIVATE" } },
    delivery: () => ({ status: 400, body: { error: forged } }),
  });
  onTestFinished(() => place.close());
  const server = await place.start("a");
  for (const conversation of [`fails${forged}`, `c${forged}`])
    await post(server, "/v1/messages", { conversation, id: forged, author: forged, text: `PRIVATE ${forged}` });
  await post(server, "/v1/messages", { conversation: "c", text: "PRIVATE", extra: forged });
  await fetch(`${server.url}/v1/${encodeURIComponent(forged)}?${encodeURIComponent(forged)}=1`);
  const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.write(
    'GET /%0a%7b HTTP/1.1\r\nHost: localhost\r\nx-request-id: {"level":50}\r\nconnection: close\r\n\r\nGET FORGED',
  );
  await place.rested(server, `c${forged}`);
  await place.rested(server, `fails${forged}`);
  await sleep(500);
  socket.destroy();
  server.kill("SIGTERM");
  await server.exited;
  const lines = server
    .said()
    .split("\n")
    .filter((line) => line !== "");
  expect(lines.length).toBeGreaterThan(5);
  for (const line of lines) {
    const entry = JSON.parse(line);
    expect(entry, line).toMatchObject({ name: "lull-server", level: expect.any(Number), msg: expect.any(String) });
    expect(entry.msg, line).not.toContain("FORGED");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal would obey
    expect(line).not.toMatch(/[\u0000-\u001f\u007f]/);
  }
  expect(server.said()).not.toContain("PRIVATE");
  const requests = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "request");
  expect(requests.length).toBeGreaterThan(3);
  for (const { requestId } of requests) expect(requestId).toMatch(/^[\w.:/+=@-]{1,128}$/);
});

test("terminal injection: the command line prints no control characters of others", async () => {
  const place = await openScene({ settings: { LULL_QUIET_MS: "50", LULL_START_MS: "0" } });
  onTestFinished(() => place.close());
  const server = await place.start("a");
  const evil = "c\u001b]0;owned\u0007\u001b[2J";
  await post(server, "/v1/messages", { conversation: evil, id: evil, author: evil, text: evil });
  await place.rested(server, evil);
  for (const args of [
    ["show", evil],
    ["explain", evil],
    ["erase", "--author", evil],
    ["retry", "--parked"],
  ]) {
    const { stdout, stderr } = spawnSync(process.execPath, [bin, ...args], {
      env: { PATH: process.env.PATH, LULL_URL: server.url },
      encoding: "utf8",
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal would obey
    expect(stdout + stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/);
  }
});
