// Node's HTTP server in front of a function from Request to Response.
import type { RequestListener } from "node:http";

export function serve(handle: (request: Request) => Promise<Response>): RequestListener {
  return async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { method = "GET", url = "/" } = incoming;
    const headers = new Headers(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
    const body = method === "GET" ? null : Buffer.concat(chunks);
    const response = await handle(new Request(new URL(url, "http://localhost"), { method, headers, body }));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  };
}
