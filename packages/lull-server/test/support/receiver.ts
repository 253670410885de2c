/**
 * A webhook receiver on this machine.
 *
 * @module
 */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface Seen {
  headers: http.IncomingHttpHeaders;
  text: string;
}

/** `answer` decides what becomes of each request; `count` is 1 for the first. */
export async function receiver(answer: (request: Seen, response: http.ServerResponse, count: number) => void) {
  const seen: Seen[] = [];
  /** Requests (by position in `seen`) whose connection was closed before an answer was complete. */
  const cut: number[] = [];
  const server = http.createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      const one = { headers: request.headers, text };
      const at = seen.push(one) - 1;
      response.on("close", () => {
        if (!response.writableFinished) cut.push(at);
      });
      answer(one, response, at + 1);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, seen, cut };
}
