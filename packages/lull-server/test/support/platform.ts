/**
 * The far ends of the bridges in `examples/bridges`: each platform's API as it is published, on loopback, and the bridge
 * as a process of its own.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { eventually } from "./processes.ts";

export interface ApiCall {
  method: string;
  path: string;
  headers: http.IncomingHttpHeaders;
  body: string;
}

export interface ApiAnswer {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

/** A platform's API; `answer` says what it would. Ends with the test. */
export async function platformApi(answer: (call: ApiCall, count: number) => ApiAnswer | Promise<ApiAnswer>) {
  const calls: ApiCall[] = [];
  const server = http.createServer(async (request, response) => {
    response.on("error", () => {});
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = "", url: path = "", headers } = request;
    const call = { method, path, headers, body: Buffer.concat(chunks).toString() };
    calls.push(call);
    const { status, headers: more = {}, body } = await answer(call, calls.length);
    response.writeHead(status, { "content-type": "application/json", ...more }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

export interface Program {
  child: ChildProcess;
  port: number;
  url: string;
  said(): string;
}

/** Starts a program that says on which port it listens; ended by its id, whatever becomes of the test. */
export async function listening(command: string, args: string[], env: Record<string, string>, says = /on port (\d+)/) {
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  const port = Number(await eventually(`port of ${args.join(" ")}`, async () => says.exec(said)?.[1] ?? null, 60_000));
  return { child, port, url: `http://127.0.0.1:${port}`, said: () => said } satisfies Program;
}
