/**
 * What an adapter is given to post, as parts of a reply that any process can send, and back.
 *
 * @module
 */
import { splitText } from "../channels/split.ts";
import { LullError } from "../errors.ts";
import type { Json, JsonObject, Part } from "../model.ts";

/** Under this name in a data part. */
const key = "chat";
/** Of the files of one message, together: a part is written into the store. */
const mostFileBytes = 700_000;

/**
 * The parts of a postable: a text, or `{ markdown }`, `{ raw }`, `{ ast }`, `{ card }`, with attachments by URL and small
 * files. What is longer than the platform takes becomes several parts.
 * @throws LullError `too-large` for files that do not fit into the store
 */
export async function partsOf(postable: unknown, limit: number): Promise<Part[]> {
  if (typeof postable === "string") return splitText(postable, limit).map((text) => ({ type: "text", text }));
  const { files, ...given } = Object(postable) as Record<string, unknown>;
  for (const field of ["markdown", "raw"] as const) {
    const text = given[field];
    if (typeof text === "string" && text.length > limit && Object.keys(given).length === 1 && files === undefined)
      return splitText(text, limit).map((piece) => dataOf({ [field]: piece }));
  }
  if (!Array.isArray(files) || files.length === 0) return [dataOf(given)];
  const written = await Promise.all(files.map(writtenOf));
  const size = written.reduce((sum, { data }) => sum + data.length, 0);
  if (size > mostFileBytes)
    throw new LullError("too-large", "The files of one message are too large to wait in a store.", {
      details: { advice: "Post them as attachments with a url." },
    });
  return [dataOf({ ...given, files: written })];
}

async function writtenOf(file: unknown): Promise<JsonObject & { data: string }> {
  const { data, ...rest } = Object(file) as { data: Uint8Array | ArrayBuffer | Blob };
  const bytes = data instanceof Blob ? await data.arrayBuffer() : data;
  return { ...(rest as JsonObject), data: Buffer.from(bytes as Uint8Array).toString("base64") };
}

function dataOf(postable: object): Part {
  return { type: "data", data: { [key]: JSON.parse(JSON.stringify(postable)) as Json } };
}

/** What the adapter is given; null for a part of another kind. */
export function postableOf(part: Part): unknown {
  switch (part.type) {
    case "text":
      return part.text;
    case "file": {
      const { url, filename, mediaType } = part;
      const type = mediaType.startsWith("image/") ? "image" : "file";
      const name = filename === undefined ? {} : { name: filename };
      return url === undefined
        ? null
        : { raw: filename ?? "", attachments: [{ type, mimeType: mediaType, url, ...name }] };
    }
    case "data": {
      const postable = (Object(part.data) as Record<string, unknown>)[key];
      if (typeof postable !== "object" || postable === null) return null;
      const { files } = postable as { files?: { data: string }[] };
      if (files === undefined) return postable;
      return { ...postable, files: files.map((file) => ({ ...file, data: Buffer.from(file.data, "base64") })) };
    }
  }
}

/** What comes out of a stream of the Chat SDK: texts, or chunks of which only the texts are shown. */
export async function* textsOf(stream: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const chunk of stream) {
    if (typeof chunk === "string") yield chunk;
    else {
      const { type, text } = Object(chunk) as Record<string, unknown>;
      if (type === "markdown_text" && typeof text === "string") yield text;
    }
  }
}
