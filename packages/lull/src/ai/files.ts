/**
 * Files for a model: bytes or a URL where the model takes such files, words where it does not.
 *
 * @module
 */
import type { FilePart, TextPart } from "ai";
import type { Part } from "../model.ts";

type Attached = Extract<Part, { type: "file" }>;

export interface FileOptions {
  /**
   * Media types the model takes, `image/*` for all of a kind. Others are named in words, because a provider refuses a
   * request with a file it does not know. Default: the pictures every provider with eyes takes (PNG, JPEG, GIF, WebP).
   */
  accepts?: readonly string[];
  /**
   * Gets the bytes of a file with a `ref`, or of a URL the model's provider could not fetch (credentials, expiry). Null:
   * the file is named in words. Default: `https:` and `data:` URLs are handed on, the rest is named in words.
   */
  fetchFile?: (file: Attached, signal: AbortSignal) => Promise<Uint8Array | URL | null> | Uint8Array | URL | null;
}

/** Taken by OpenAI, Anthropic and Google alike. */
export const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

/**
 * The shape both majors carry to the model: `data` as a URL object, bytes or base64. The UI's shape (`url: …`) is refused
 * by one major and silently loses the bytes in the other.
 */
export async function fileFor(
  file: Attached,
  { accepts = pictures, fetchFile }: FileOptions,
  signal: AbortSignal,
): Promise<FilePart | TextPart> {
  const { mediaType, filename } = file;
  if (!accepts.some((pattern) => matches(pattern, mediaType))) return wordsFor(file);
  const data = fetchFile === undefined ? given(file) : ((await fetchFile(file, signal)) ?? null);
  if (data === null || (data instanceof Uint8Array && data.length === 0)) return wordsFor(file);
  const content = data instanceof URL && data.protocol === "data:" ? base64Of(data) : data;
  if (content === null) return wordsFor(file);
  return { type: "file", data: content, mediaType, ...(filename !== undefined && { filename }) };
}

/** What a text says of a file. */
export function wordsFor({ filename, mediaType }: Attached): TextPart {
  return { type: "text", text: filename ? `[file: ${filename}, ${mediaType}]` : `[file: ${mediaType}]` };
}

function given({ url }: Attached): URL | null {
  if (url === undefined || !URL.canParse(url)) return null;
  const parsed = new URL(url);
  return ["https:", "http:", "data:"].includes(parsed.protocol) ? parsed : null;
}

/** The content of a `data:` URL; null when it is not base64 or empty. */
function base64Of({ pathname }: URL): string | null {
  const at = pathname.indexOf(",");
  if (at === -1 || !/;base64$/i.test(pathname.slice(0, at))) return null;
  return pathname.slice(at + 1) || null;
}

function matches(pattern: string, mediaType: string): boolean {
  const [kind] = mediaType.toLowerCase().split(";");
  return pattern.endsWith("/*") ? (kind ?? "").startsWith(pattern.slice(0, -1)) : kind === pattern.toLowerCase();
}
