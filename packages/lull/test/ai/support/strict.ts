// What real APIs refuse, as one check: the union of the rules of OpenAI, Anthropic, Google, Mistral and strict chat
// templates, as their documentation and their users' bug reports tell them.
import type { ModelCall, Prompt, PromptPart } from "./model.ts";

/** What a provider answers with 400. */
export class IllegalPrompt extends Error {
  override readonly name = "IllegalPrompt";
}

/** @throws IllegalPrompt naming the rule. */
export function strict({ prompt }: ModelCall): void {
  const refuse = (rule: string): never => {
    throw new IllegalPrompt(`${rule}\n${JSON.stringify(prompt, null, 1).slice(0, 4_000)}`);
  };
  const said = prompt.filter(({ role }) => role !== "system");
  if (prompt.slice(1).some(({ role }) => role === "system")) refuse("a system message that is not the first");
  if (said.length === 0) refuse("no messages");
  if (said[0]?.role !== "user") refuse("the first message is not the user's");
  if (!["user", "tool"].includes(said.at(-1)?.role ?? "")) refuse("the last message is not the user's or a tool's");
  let open = new Set<string>();
  let called = new Set<string>();
  for (const [at, message] of said.entries()) {
    const before = said[at - 1];
    if (before?.role === message.role) refuse(`two ${message.role} messages in a row`);
    const parts = partsOf(message);
    if (parts.length === 0) refuse(`an empty ${message.role} message`);
    for (const part of parts) checkPart(message, part, refuse);
    if (message.role === "tool") {
      for (const { toolCallId = "" } of parts)
        if (!open.delete(toolCallId)) refuse(`a result of ${toolCallId}, which the message before did not call`);
      if (open.size > 0) refuse(`calls without results: ${[...open].join(", ")}`);
      continue;
    }
    if (open.size > 0) refuse(`calls without results: ${[...open].join(", ")}`);
    open = new Set(parts.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId ?? ""] : [])));
    for (const id of open) {
      if (called.has(id)) refuse(`the call ${id} twice`);
      called = new Set([...called, id]);
    }
  }
  if (open.size > 0) refuse(`calls without results: ${[...open].join(", ")}`);
}

function partsOf({ content }: Prompt): PromptPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

const allowed: Record<string, readonly string[]> = {
  user: ["text", "file"],
  assistant: ["text", "tool-call"],
  tool: ["tool-result"],
};

function checkPart({ role }: Prompt, part: PromptPart, refuse: (rule: string) => never): void {
  if (!allowed[role]?.includes(part.type)) refuse(`a ${part.type} part in a ${role} message`);
  if (part.type === "text") {
    if ((part.text ?? "").trim() === "") refuse("a blank text block");
    if (!(part.text ?? "").isWellFormed()) refuse("a lone surrogate");
    if (role === "assistant" && part.text !== part.text?.trimEnd()) refuse("trailing white space of the assistant's");
  }
  if (part.type === "file") {
    if (!/^image\/(png|jpeg|gif|webp)$/.test(part.mediaType ?? "")) refuse(`a file of the type ${part.mediaType}`);
    if (bytesOf(part) === null) refuse("a file without its bytes or an address");
  }
  if (part.type === "tool-result" && part.output === undefined) refuse("a tool result without output");
}

/** What of a file reaches the model: its bytes, or where it is. Null: nothing. Both specifications' shapes. */
export function bytesOf({ data }: PromptPart): Uint8Array | URL | null {
  if (data instanceof URL) return data;
  if (data instanceof Uint8Array) return data.length > 0 ? data : null;
  if (typeof data === "string") return data === "" ? null : Uint8Array.from(Buffer.from(data, "base64"));
  const { type, url, data: inner } = (data ?? {}) as { type?: string; url?: unknown; data?: unknown };
  if (type === "url") return url instanceof URL ? url : null;
  if (type === "data") return bytesOf({ type: "file", data: inner });
  return null;
}
