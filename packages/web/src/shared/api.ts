/**
 * The server's API, from a page: JSON in and out, problems as errors. The session's cookie travels by itself.
 *
 * @module
 */

/** What went wrong, in the server's words. `status` 0: it could not be reached. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  /** The problem's `code`; `unreachable` where there was no answer. */
  readonly code: string;
  /** Seconds after which the same request may succeed. */
  readonly retryAfter: number | null;

  constructor(status: number, code: string, detail: string, retryAfter: number | null = null) {
    super(detail);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

export interface Api {
  /** @throws ApiError */
  get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T>;
  /** @throws ApiError */
  post<T>(path: string, body?: unknown): Promise<T>;
  /** @throws ApiError */
  put(path: string, body: unknown): Promise<void>;
  /** @throws ApiError */
  delete(path: string): Promise<void>;
  /** The address of a path, for streams. */
  url(path: string, query?: Query): URL;
}

export type Query = Record<string, string | number | boolean | null | undefined>;

/** @param root Where `v1` is, relative to the page: `./` or `../`. Works below any path of a reverse proxy. */
export function createApi(root: string): Api {
  const base = new URL(root, location.href.replace(/[?#].*$/, ""));

  function url(path: string, query: Query = {}): URL {
    const address = new URL(path, base);
    for (const [name, value] of Object.entries(query))
      if (value !== null && value !== undefined && value !== "") address.searchParams.set(name, String(value));
    return address;
  }

  async function call<T>(address: URL, init: RequestInit): Promise<T> {
    let response: Response;
    try {
      response = await fetch(address, { credentials: "same-origin", cache: "no-store", ...init });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new ApiError(0, "unreachable", "The server cannot be reached.");
    }
    if (!response.ok) throw await problemOf(response);
    return (response.status === 204 ? undefined : await response.json()) as T;
  }

  const write = <T>(method: "POST" | "PUT", path: string, body: unknown): Promise<T> =>
    call(url(path), { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

  return {
    url,
    get: (path, query, signal) => call(url(path, query), signal ? { signal } : {}),
    post: (path, body) => write("POST", path, body ?? {}),
    put: (path, body) => write("PUT", path, body),
    delete: (path) => call(url(path), { method: "DELETE" }),
  };
}

/** The error of an answer that is not ok. */
export async function problemOf(response: Response): Promise<ApiError> {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retryAfter = Number.isFinite(seconds) ? seconds : null;
  try {
    const body = (await response.json()) as { code?: unknown; detail?: unknown };
    if (typeof body.detail === "string" && typeof body.code === "string")
      return new ApiError(response.status, body.code, body.detail, retryAfter);
  } catch {
    // Not the server's own answer: a proxy's, most likely.
  }
  return new ApiError(response.status, "unknown", `The server answered ${response.status}.`, retryAfter);
}

/** A conversation's path. */
export function pathOf(conversation: string, rest = ""): string {
  return `v1/conversations/${encodeURIComponent(conversation)}${rest}`;
}
