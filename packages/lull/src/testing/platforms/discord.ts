/**
 * Discord's REST API, and messages as a gateway forwards them to a webhook of the Chat SDK.
 *
 * @module
 */
import { generateKeyPairSync, sign } from "node:crypto";
import { platforms } from "../../channels/platforms.ts";
import { type DoubleOptions, type PlatformDouble, startDouble, type WebhookPost } from "./double.ts";

export interface DiscordDouble extends PlatformDouble {
  readonly botToken: string;
  readonly applicationId: string;
  /** Of interactions, as hexadecimal digits. */
  readonly publicKey: string;
  /** A message in a direct chat, forwarded from the gateway. */
  message(message: DiscordMessage): () => WebhookPost;
  /** The same message, changed; `preview`: by Discord, which looked a link up. */
  edited(message: DiscordMessage & { editedAtMs?: number; preview?: boolean }): () => WebhookPost;
  deleted(message: Pick<DiscordMessage, "channel" | "id" | "guild">): () => WebhookPost;
  /** An interaction, signed. */
  interaction(payload: object): () => WebhookPost;
}

export interface DiscordMessage {
  channel: string;
  /** Snowflake. */
  id: string;
  content: string;
  author?: string;
  /** In a server, not in a direct chat. */
  guild?: string;
  mentions?: string[];
  /** Names of photos that come with it. */
  photos?: string[];
}

export async function discordDouble(options: DoubleOptions): Promise<DiscordDouble> {
  const botToken = "discord-token";
  const applicationId = "200000000000000001";
  const threads = new Map<string, object>();
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const double = await startDouble(
    {
      platform: platforms.discord,
      newId: (_chat, count) => String(300_000_000_000_000_000n + BigInt(count)),
      posted({ method, path, body }) {
        const channel = /\/channels\/(\d+)\/messages$/.exec(path)?.[1];
        if (method !== "POST" || channel === undefined) return null;
        // The same nonce from the same author, enforced: the first message again.
        const enforced = body["enforce_nonce"] === true && body["nonce"] !== undefined;
        return { chat: channel, text: String(body["content"] ?? ""), ...(enforced && { key: String(body["nonce"]) }) };
      },
      shown: (_call, message) => ({ body: messageOf(message.chat, message.id, message.text) }),
      refused: ({ status, retryAfterS = 1 }) => ({
        status,
        headers: status === 429 ? { "retry-after": String(retryAfterS), "x-ratelimit-scope": "shared" } : {},
        body:
          status === 429
            ? { message: "You are being rate limited.", retry_after: retryAfterS, global: false }
            : { message: `Error ${status}`, code: 0 },
      }),
      answer({ method, path, body }, screen) {
        // A thread that starts from a message has the message's id.
        const [, parent, thread] = /\/channels\/(\d+)\/messages\/(\d+)\/threads$/.exec(path) ?? [];
        if (parent !== undefined && thread !== undefined)
          threads.set(thread, { id: thread, type: 11, parent_id: parent, name: body["name"] });
        const opened = threads.get(thread ?? /\/channels\/(\d+)$/.exec(path)?.[1] ?? "");
        if (opened !== undefined) return { body: opened };
        const [, chat, id] = /\/channels\/(\d+)\/messages\/(\d+)$/.exec(path) ?? [];
        const of = screen.find((message) => message.chat === chat && message.id === id);
        if (of !== undefined && method === "PATCH")
          Object.assign(of, { text: String(body["content"] ?? ""), edited: true });
        if (of !== undefined && method === "DELETE") of.deleted = true;
        return { body: of === undefined ? { id: chat ?? "0", type: 1 } : messageOf(of.chat, of.id, of.text) };
      },
    },
    options,
  );
  const now = () => new Date(options.clock.now()).toISOString();
  const messageOf = (channel_id: string, id: string, content: string) => ({
    id,
    channel_id,
    content,
    timestamp: now(),
    author: { id: applicationId, username: "bot", bot: true, discriminator: "0" },
    attachments: [],
    embeds: [],
    mentions: [],
    type: 0,
  });

  const said = ({
    channel,
    id,
    content,
    author = "400000000000000001",
    guild,
    mentions = [],
    photos = [],
  }: DiscordMessage) => ({
    ...messageOf(channel, id, content),
    author: { id: author, username: "ada", global_name: "Ada", bot: author === applicationId },
    mentions: mentions.map((user) => ({ id: user, username: "bot" })),
    attachments: photos.map((name, at) => ({
      id: `${id}${at}`,
      filename: name,
      content_type: "image/jpeg",
      size: 9,
      url: `${double.url}/attachments/${name}`,
    })),
    channel_type: guild === undefined ? 1 : 0,
    ...(guild !== undefined && { guild_id: guild }),
  });
  function forwarded(event: string, data: object): () => WebhookPost {
    const body = JSON.stringify({ type: `GATEWAY_${event}`, timestamp: options.clock.now(), data });
    const headers = { "content-type": "application/json", "x-discord-gateway-token": botToken };
    return () => ({ method: "POST", headers, body });
  }

  return {
    ...double,
    botToken,
    applicationId,
    publicKey: publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("hex"),
    message: (message) => forwarded("MESSAGE_CREATE", said(message)),
    edited: ({ editedAtMs, preview = false, ...message }) =>
      forwarded("MESSAGE_UPDATE", {
        ...said(message),
        edited_timestamp: preview ? null : new Date(editedAtMs ?? options.clock.now()).toISOString(),
        ...(preview && { embeds: [{ type: "link", url: "https://example.org" }] }),
      }),
    deleted: ({ channel, id, guild }) =>
      forwarded("MESSAGE_DELETE", { id, channel_id: channel, ...(guild !== undefined && { guild_id: guild }) }),
    interaction(payload) {
      const body = JSON.stringify(payload);
      return () => {
        const time = String(Math.floor(options.clock.now() / 1_000));
        const signature = sign(null, Buffer.from(time + body), privateKey).toString("hex");
        return {
          method: "POST",
          headers: {
            "content-type": "application/json",
            "x-signature-ed25519": signature,
            "x-signature-timestamp": time,
          },
          body,
        };
      };
    },
  };
}
