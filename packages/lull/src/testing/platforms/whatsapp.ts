/**
 * WhatsApp's Cloud API and webhooks, as far as bots that talk need them.
 *
 * @module
 */
import { createHmac } from "node:crypto";
import { platforms } from "../../channels/platforms.ts";
import { type DoubleOptions, type OnScreen, type PlatformDouble, startDouble, type WebhookPost } from "./double.ts";

export interface WhatsAppDouble extends PlatformDouble {
  readonly accessToken: string;
  readonly appSecret: string;
  readonly verifyToken: string;
  readonly phoneNumberId: string;
  /** One webhook may carry several messages. */
  message(...messages: WhatsAppMessage[]): () => WebhookPost;
  /** What became of a message of the bot's. */
  status(message: OnScreen, state: "sent" | "delivered" | "read" | "failed"): () => WebhookPost;
}

export interface WhatsAppMessage {
  from: string;
  id: string;
  text?: string;
  /** Media id of a photo; `text` is its caption. */
  image?: string;
  atS?: number;
}

export async function whatsappDouble(options: DoubleOptions): Promise<WhatsAppDouble> {
  const appSecret = "whatsapp-app-secret";
  const phoneNumberId = "100200300";
  const double = await startDouble(
    {
      platform: platforms.whatsapp,
      newId: (chat, count) => `wamid.${chat}.${count}`,
      posted({ path, body }) {
        if (!path.endsWith("/messages") || body["type"] === undefined) return null;
        const text = (body["text"] as { body?: string } | undefined)?.body ?? "";
        return { chat: String(body["to"] ?? body["recipient"]), text };
      },
      shown: ({ body }, { id }) => ({
        body: {
          messaging_product: "whatsapp",
          contacts: [{ input: body["to"], wa_id: body["to"] }],
          messages: [{ id }],
        },
      }),
      refused: ({ status, retryAfterS }) => ({
        status,
        headers: retryAfterS === undefined ? {} : { "retry-after": String(retryAfterS) },
        body: { error: { message: `Error ${status}`, type: "OAuthException", code: status === 429 ? 130_429 : 100 } },
      }),
      answer: () => ({ body: { success: true } }),
    },
    options,
  );

  function post(value: object): () => WebhookPost {
    const metadata = { display_phone_number: "15550000000", phone_number_id: phoneNumberId };
    const change = { field: "messages", value: { messaging_product: "whatsapp", metadata, ...value } };
    const body = JSON.stringify({
      object: "whatsapp_business_account",
      entry: [{ id: "WABA", changes: [change] }],
    });
    const signature = `sha256=${createHmac("sha256", appSecret).update(body).digest("hex")}`;
    return () => ({
      method: "POST",
      headers: { "content-type": "application/json", "x-hub-signature-256": signature },
      body,
    });
  }

  return {
    ...double,
    accessToken: "whatsapp-token",
    appSecret,
    verifyToken: "whatsapp-verify",
    phoneNumberId,
    message: (...messages) =>
      post({
        contacts: messages.map(({ from }) => ({ profile: { name: "Ada" }, wa_id: from })),
        messages: messages.map(({ from, id, text, image, atS }) => ({
          from,
          id,
          timestamp: String(atS ?? Math.floor(options.clock.now() / 1_000)),
          ...(image === undefined
            ? { type: "text", text: { body: text } }
            : { type: "image", image: { id: image, mime_type: "image/jpeg", sha256: "0", caption: text } }),
        })),
      }),
    status: ({ id, chat }, state) => {
      const timestamp = String(Math.floor(options.clock.now() / 1_000));
      return post({ statuses: [{ id, status: state, timestamp, recipient_id: chat }] });
    },
  };
}
