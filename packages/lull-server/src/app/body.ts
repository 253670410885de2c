/**
 * Reads JSON bodies strictly: type, size, UTF-8, syntax and nesting are checked, each with its own problem.
 *
 * @module
 */
import type { Context } from "hono";
import type { z } from "zod";
import { Problem } from "../problem.ts";
import { validate } from "../schemas.ts";

/** Deeper values would overflow the stack of whoever walks them. */
const mostNesting = 64;

function tooLarge(most: number): Problem {
  // The rest of the body is not read, so the connection cannot be used again.
  return new Problem(413, "too-large", `The body is larger than ${most} bytes (maxBodyBytes).`, {
    field: "body",
    headers: { connection: "close" },
  });
}

/** The body as it was sent. @throws Problem 413. */
export async function readBytes(request: Request, most: number): Promise<Uint8Array> {
  const length = request.headers.get("content-length");
  if (length !== null && Number(length) > most) throw tooLarge(most);
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > most) throw tooLarge(most);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function checkType(header: string | undefined): void {
  const [type, ...parameters] = (header ?? "")
    .toLowerCase()
    .split(";")
    .map((piece) => piece.trim());
  const charset = parameters
    .find((parameter) => parameter.startsWith("charset="))
    ?.slice(8)
    .replaceAll('"', "");
  if (type === "application/json" && (charset === undefined || charset === "utf-8" || charset === "utf8")) return;
  throw new Problem(415, "unsupported-media-type", "Send content-type: application/json (UTF-8).", {
    field: "content-type",
    headers: { accept: "application/json" },
  });
}

/** True when arrays and objects nest deeper than `most`; works on the text, so it cannot overflow itself. */
function nestsDeeper(text: string, most: number): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 92) index++;
      else if (code === 34) inString = false;
    } else if (code === 34) inString = true;
    else if (code === 91 || code === 123) {
      if (++depth > most) return true;
    } else if (code === 93 || code === 125) depth--;
  }
  return false;
}

/** The parsed body; undefined when there is none. @throws Problem 400, 413 or 415. */
export async function readJson(c: Context, most: number): Promise<unknown> {
  const raw = await readBytes(c.req.raw, most);
  if (raw.length === 0) return undefined;
  checkType(c.req.header("content-type"));
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(raw);
  } catch {
    throw new Problem(400, "invalid-json", "The body is not valid UTF-8.", { field: "body" });
  }
  if (nestsDeeper(text, mostNesting))
    throw new Problem(400, "invalid-json", `The body nests deeper than ${mostNesting} levels.`, { field: "body" });
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which may be a user's.
    throw new Problem(400, "invalid-json", "The body is not valid JSON.", { field: "body" });
  }
}

/** A body that must be there. */
export async function readBody<S extends z.ZodType>(c: Context, schema: S, most: number): Promise<z.output<S>> {
  const value = await readJson(c, most);
  if (value === undefined) throw new Problem(400, "invalid-argument", "A JSON body is required.", { field: "body" });
  return validate(schema, value);
}

/** A body that may be absent: then it counts as `{}`. */
export async function readOptionalBody<S extends z.ZodType>(c: Context, schema: S, most: number): Promise<z.output<S>> {
  return validate(schema, (await readJson(c, most)) ?? {});
}
