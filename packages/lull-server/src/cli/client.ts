/**
 * The command line's way to a running server.
 *
 * @module
 */

export interface ClientOptions {
  url: string;
  key?: string;
  /** Of a server with several: whose conversations are meant. */
  bot?: string;
}

/** A message for the person at the terminal; the program ends with `exitCode`. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;
  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

export class Client {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  constructor(options: ClientOptions) {
    if (!URL.canParse(options.url))
      throw new CliError(`--url must be an address such as http://127.0.0.1:8080; got ${options.url}.`, 2);
    this.#base = options.url.replace(/\/+$/, "");
    this.#headers = {
      ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }),
      ...(options.bot === undefined ? {} : { "lull-bot": options.bot }),
    };
  }

  /** The path of a conversation. Ids that a URL would collapse are refused. */
  static conversation(id: string): string {
    if (id === "" || id === "." || id === "..")
      throw new CliError('A conversation id must not be empty, "." or "..".', 2);
    return `/v1/conversations/${encodeURIComponent(id)}`;
  }

  async open(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(this.#base + path, {
        method,
        headers: {
          ...this.#headers,
          ...headers,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      const code = ((error as Error).cause as { code?: string } | undefined)?.code ?? (error as Error).message;
      throw new CliError(`No server answers at ${this.#base} (${code}). Start one with: lull serve`);
    }
    if (response.ok) return response;
    const text = await response.text();
    let told = text.slice(0, 200);
    try {
      const problem = JSON.parse(text) as { detail?: string; code?: string };
      told = `${problem.detail ?? told} (${problem.code ?? response.status})`;
    } catch {
      told = `${response.status} ${told}`;
    }
    if (response.status === 401) told += " Give a key with --key or LULL_KEY.";
    throw new CliError(told);
  }

  async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    return (await (await this.open(method, path, body)).json()) as T;
  }
}

export interface Streamed {
  id: string | null;
  data: unknown;
}

/** The events of an open stream, until it ends. */
export async function* streamed(response: Response): AsyncGenerator<Streamed> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(chunk, { stream: true });
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      let id: string | null = null;
      let data: string | null = null;
      for (const line of rest.slice(0, end).split("\n")) {
        if (line.startsWith("id: ")) id = line.slice(4);
        else if (line.startsWith("data: ")) data = line.slice(6);
      }
      rest = rest.slice(end + 2);
      if (id !== null || data !== null) yield { id, data: data === null ? null : JSON.parse(data) };
    }
  }
}
