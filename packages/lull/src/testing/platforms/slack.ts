/**
 * Slack's web API and Events API, as far as bots that talk need them.
 *
 * @module
 */
import { createHmac } from "node:crypto";
import { platforms } from "../../channels/platforms.ts";
import { type DoubleOptions, type OnScreen, type PlatformDouble, startDouble, type WebhookPost } from "./double.ts";

export interface SlackDouble extends PlatformDouble {
  readonly token: string;
  readonly signingSecret: string;
  /** Repetitions carry `x-slack-retry-num`, as Slack's do. */
  message(message: SlackMessage): (nth: number) => WebhookPost;
  edited(message: SlackMessage & { before: string }): (nth: number) => WebhookPost;
  deleted(message: SlackMessage): (nth: number) => WebhookPost;
  /** The bot's own message, as Slack tells the bot of it. */
  echo(message: OnScreen): (nth: number) => WebhookPost;
}

export interface SlackMessage {
  /** `D…` for a direct chat. */
  channel: string;
  /** Slack's time and id of the message; unique in its channel. */
  ts: string;
  text: string;
  user?: string;
  team?: string;
  /** The `ts` of the thread's first message. */
  thread?: string;
  /** Names of photos that come with it. */
  photos?: string[];
}

export async function slackDouble(options: DoubleOptions): Promise<SlackDouble> {
  const token = "xoxb-test";
  const signingSecret = "slack-signing-secret";
  const team = "T1";
  let events = 0;
  let metadata: { ts: string; text: string; metadata: unknown; channel: string }[] = [];
  const double = await startDouble(
    {
      platform: platforms.slack,
      newId: (_chat, count) => `${Math.floor(options.clock.now() / 1_000)}.${String(count).padStart(6, "0")}`,
      posted: ({ path, body }) =>
        path.endsWith("/chat.postMessage") ? { chat: String(body["channel"]), text: textIn(body) } : null,
      shown({ body }, { id, text, chat }) {
        const given = body["metadata"];
        const parsed = typeof given === "string" ? JSON.parse(given) : given;
        metadata = [...metadata, { ts: id, text, metadata: parsed, channel: chat }];
        return { body: { ok: true, channel: chat, ts: id, message: { ts: id, text, bot_id: "B1" } } };
      },
      refused: ({ status, retryAfterS }) =>
        status === 429
          ? {
              status,
              headers: retryAfterS === undefined ? {} : { "retry-after": String(retryAfterS) },
              body: { ok: false, error: "ratelimited" },
            }
          : { status: status >= 500 ? status : 200, body: { ok: false, error: "channel_not_found" } },
      answer({ path, body }, screen) {
        const of = screen.find(({ chat, id }) => chat === String(body["channel"]) && id === String(body["ts"]));
        if (path.endsWith("/chat.update") && of !== undefined) Object.assign(of, { text: textIn(body), edited: true });
        if (path.endsWith("/chat.delete") && of !== undefined) of.deleted = true;
        if (path.endsWith("/auth.test"))
          return { body: { ok: true, user_id: "U0BOT", bot_id: "B1", team_id: team, user: "bot" } };
        if (path.endsWith("/conversations.history") || path.endsWith("/conversations.replies"))
          return { body: { ok: true, messages: metadata.filter(({ channel }) => channel === body["channel"]) } };
        if (path.endsWith("/users.info"))
          return { body: { ok: true, user: { id: body["user"], name: "ada", real_name: "Ada", profile: {} } } };
        return { body: { ok: true, channel: body["channel"], ts: body["ts"] } };
      },
    },
    options,
  );

  function event(inner: object, of: string): (nth: number) => WebhookPost {
    events += 1;
    const body = JSON.stringify({
      type: "event_callback",
      team_id: of,
      api_app_id: "A1",
      event_id: `Ev${events}`,
      event_time: Math.floor(options.clock.now() / 1_000),
      authorizations: [{ team_id: of, user_id: "U0BOT", is_bot: true }],
      event: inner,
    });
    return (nth) => {
      const time = String(Math.floor(options.clock.now() / 1_000));
      const signature = createHmac("sha256", signingSecret).update(`v0:${time}:${body}`).digest("hex");
      return {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-slack-request-timestamp": time,
          "x-slack-signature": `v0=${signature}`,
          ...(nth > 0 && { "x-slack-retry-num": String(nth), "x-slack-retry-reason": "http_error" }),
        },
        body,
      };
    };
  }
  const messageOf = ({ channel, ts, text, user = "U1", thread, photos = [] }: SlackMessage) => ({
    type: "message",
    channel,
    ts,
    text,
    user,
    ...(thread !== undefined && { thread_ts: thread }),
    ...(photos.length > 0 && {
      subtype: "file_share",
      files: photos.map((name) => ({
        id: `F${name}`,
        name,
        mimetype: "image/jpeg",
        size: 9,
        url_private: `${double.url}/files/${name}`,
      })),
    }),
  });
  const typeOf = (channel: string) => (channel.startsWith("D") ? "im" : "channel");

  return {
    ...double,
    token,
    signingSecret,
    message: (message) =>
      event(
        { ...messageOf(message), channel_type: typeOf(message.channel), event_ts: message.ts },
        message.team ?? team,
      ),
    edited: ({ before, ...message }) =>
      event(
        {
          type: "message",
          subtype: "message_changed",
          hidden: true,
          channel: message.channel,
          channel_type: typeOf(message.channel),
          ts: `${message.ts}9`,
          message: { ...messageOf(message), edited: { user: message.user ?? "U1", ts: `${message.ts}9` } },
          previous_message: { ...messageOf(message), text: before },
        },
        message.team ?? team,
      ),
    deleted: (message) =>
      event(
        {
          type: "message",
          subtype: "message_deleted",
          hidden: true,
          channel: message.channel,
          channel_type: typeOf(message.channel),
          ts: `${message.ts}9`,
          deleted_ts: message.ts,
          previous_message: messageOf(message),
        },
        message.team ?? team,
      ),
    echo: ({ chat, id, text }) =>
      event(
        { type: "message", channel: chat, channel_type: typeOf(chat), ts: id, text, user: "U0BOT", bot_id: "B1" },
        team,
      ),
  };
}

function textIn(body: Record<string, unknown>): string {
  return String(body["markdown_text"] ?? body["text"] ?? "");
}
