// Slack's Bolt with lull: events go to lull, replies go out through the web API, marked so that they can be found again.
import type { App } from "@slack/bolt";
import { type Channel, Lull, type LullOptions } from "lull";
import { type ChannelEvent, fitting, hear, platforms, sendText } from "lull/channels";

/** Where a reply goes. */
type Address = { channel: "slack"; to: string; thread?: string };
/** What this uses of Slack's message events. */
type Said = { channel: string; ts: string; text?: string; user?: string; bot_id?: string; thread_ts?: string };
type Event = Said & { channel_type?: string; subtype?: string; message?: Said; previous_message?: Said };

export function slackChannel({ client }: Pick<App, "client">): Channel {
  return {
    name: "slack",
    idempotent: false,
    deliver: (part, { address, idempotencyKey: key }) =>
      sendText(part, async (text) => {
        const { to: channel, thread: thread_ts } = address as Address;
        const metadata = { event_type: "lull_part", event_payload: { key } };
        return (await client.chat.postMessage({ channel, thread_ts, text, metadata } as never)).ts;
      }),
    /** A part in doubt is asked for before it is sent again. */
    async find({ address, idempotencyKey }) {
      const { to: channel, thread } = address as Address;
      const page = { channel, limit: 100, include_all_metadata: true };
      const { conversations } = client;
      const answer = await (thread ? conversations.replies({ ...page, ts: thread }) : conversations.history(page));
      const found = answer.messages?.find(({ metadata }) => Object(metadata?.event_payload).key === idempotencyKey);
      return found?.ts === undefined ? null : { status: "sent", id: found.ts };
    },
  };
}

/** Give the App `clientOptions: { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true }`: trying again is lull's. */
export function lullFor(app: App, options: LullOptions & Required<Pick<LullOptions, "respond">>): Lull {
  const respond = fitting(options.respond, () => platforms.slack.textLimit);
  const lull = new Lull({ ...options, respond, channels: [slackChannel(app)] });
  app.event("message", async ({ event, context }) => {
    const { channel, channel_type, subtype, ts, message: now, previous_message: before } = event as unknown as Event;
    const said = now ?? before ?? (event as unknown as Event);
    const { ts: id, text = "(a file)", user = "?", bot_id } = said;
    const from = bot_id === undefined ? "user" : bot_id === context.botId ? "self" : "bot";
    const direct = channel_type === "im";
    const thread = said.thread_ts ?? (direct ? undefined : id);
    const conversation = ["slack", channel, thread, direct ? undefined : user].filter(Boolean).join(":");
    const tell = (told: ChannelEvent) => hear(lull, conversation, told);
    if (subtype === "message_deleted") await tell({ type: "retraction", id, from });
    // A preview changes the message, and not its text.
    else if (subtype === "message_changed" && before?.text === text) await tell({ type: "preview", id });
    else if (subtype === "message_changed") await tell({ type: "edit", id, change: { id: ts, text }, from });
    if (subtype !== undefined && subtype !== "file_share") return;
    const address: Address = { channel: "slack", to: channel, ...(thread && { thread }) };
    const message = { id, text, author: user, sentAt: Number(id) * 1_000, address };
    await tell({ type: "message", message, from, addressed: direct || text.includes(`<@${context.botUserId}>`) });
  });
  return lull;
}
