/**
 * What each platform can do, as its own documentation says. Behaviour follows from it: what is done with a part that
 * may have been delivered, where a text is cut, how long an answer can wait. `docs/channels.md` prints it.
 *
 * @module
 */

export interface Platform {
  /** As people write it. */
  title: string;
  /**
   * How a second delivery of one part is prevented.
   * - `key`: the platform refuses a second message with the same key (`how` names it).
   * - `search`: it can be asked whether the part arrived.
   * - `none`: nobody can know; the owner chooses at-least-once or at-most-once.
   */
  idempotency: { by: "key" | "search" | "none"; how: string };
  /** The bot is told that somebody is typing. */
  typingIn: boolean;
  /** How long a typing indicator of the bot's stays; null: it has none. */
  typingOutMs: number | null;
  /** The bot hears of edits and deletions of messages. */
  editsIn: boolean;
  deletionsIn: boolean;
  /** Messages of the bot can be changed or taken back, so drafts are possible. */
  editsOut: boolean;
  deletionsOut: boolean;
  /** How photos sent together arrive. */
  albums: string;
  reactions: string;
  /** How the bot's own messages come back, and how they are told apart. */
  echoes: string;
  /** Link previews that arrive as changes. */
  previews: string;
  /** After that an answer needs another way; null: never. */
  replyExpiresMs: number | null;
  replyExpires: string;
  /** Longest text of one message, and what is counted. */
  textLimit: number;
  textUnit: "characters" | "UTF-16 units";
  rateLimits: string;
  /** When a webhook that was not answered with 2xx comes again, after the first delivery. */
  retriesMs: readonly number[];
  retries: string;
  /** The webhook's answer is awaited for so long. */
  webhookTimeoutMs: number;
  signature: string;
  /** Message ids are unique within this. */
  idScope: "chat" | "channel" | "platform";
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

export const platforms = {
  telegram: {
    title: "Telegram",
    idempotency: { by: "none", how: "sendMessage takes no key, and a bot cannot read the chat" },
    typingIn: false,
    typingOutMs: 5 * second,
    editsIn: true,
    deletionsIn: false,
    editsOut: true,
    deletionsOut: true,
    albums: "one update a photo, the same media_group_id; the caption on one of them",
    reactions: "message_reaction, if asked for in allowed_updates",
    echoes: "none in private chats; in channels as posts of the bot",
    previews: "none",
    replyExpiresMs: null,
    replyExpires: "never; callback queries want an answer within seconds",
    textLimit: 4_096,
    textUnit: "UTF-16 units",
    rateLimits: "about 1 message a second in a chat, 20 a minute in a group, 30 a second in all; 429 with retry_after",
    retriesMs: [second, 2 * second, 4 * second, 8 * second, 16 * second, 32 * second, minute],
    retries: "again and again, a number of times that is not documented; nothing says that it is a repetition",
    webhookTimeoutMs: minute,
    signature: "X-Telegram-Bot-Api-Secret-Token equals the secret given to setWebhook",
    idScope: "chat",
  },
  slack: {
    title: "Slack",
    idempotency: { by: "search", how: "message metadata, found by conversations.history" },
    typingIn: false,
    typingOutMs: null,
    editsIn: true,
    deletionsIn: true,
    editsOut: true,
    deletionsOut: true,
    albums: "one message with all its files",
    reactions: "reaction_added and reaction_removed, if subscribed to",
    echoes: "the bot's own messages come as events with its bot_id",
    previews: "message_changed with attachments, also of the bot's own messages",
    replyExpiresMs: null,
    replyExpires: "never; response_url of commands: 30 minutes, 5 times",
    textLimit: 4_000,
    textUnit: "characters",
    rateLimits: "1 message a second in a channel; 429 with Retry-After",
    retriesMs: [0, minute, 5 * minute],
    retries: "at once, after 1 and 5 minutes, with X-Slack-Retry-Num and X-Slack-Retry-Reason",
    webhookTimeoutMs: 3 * second,
    signature:
      "X-Slack-Signature: HMAC-SHA256 of version, X-Slack-Request-Timestamp and body; older than 5 minutes is refused",
    idScope: "channel",
  },
  whatsapp: {
    title: "WhatsApp Cloud API",
    idempotency: {
      by: "none",
      how: "messages takes no key; biz_opaque_callback_data comes back in status events only",
    },
    typingIn: false,
    typingOutMs: 25 * second,
    editsIn: false,
    deletionsIn: false,
    editsOut: false,
    deletionsOut: false,
    albums: "one message a photo, and nothing says that they belong together",
    reactions: "messages of type reaction",
    echoes: "none; sent, delivered and read come as statuses",
    previews: "none",
    replyExpiresMs: 24 * hour,
    replyExpires: "24 hours after the person's last message only templates are taken",
    textLimit: 4_096,
    textUnit: "characters",
    rateLimits: "80 messages a second for a number; error 130429, and 131056 for one pair of numbers",
    retriesMs: [second, 10 * second, minute, 10 * minute, hour, 6 * hour, 24 * hour],
    retries:
      "ever more rarely for up to 7 days; nothing says that it is a repetition; one webhook may carry several messages",
    webhookTimeoutMs: 10 * second,
    signature: "X-Hub-Signature-256: HMAC-SHA256 of the body with the app secret",
    idScope: "platform",
  },
  discord: {
    title: "Discord",
    idempotency: { by: "key", how: "nonce with enforce_nonce, for some minutes" },
    typingIn: true,
    typingOutMs: 10 * second,
    editsIn: true,
    deletionsIn: true,
    editsOut: true,
    deletionsOut: true,
    albums: "one message with all its files",
    reactions: "MESSAGE_REACTION_ADD and _REMOVE",
    echoes: "the bot's own messages come over the gateway, author.id is its own",
    previews: "MESSAGE_UPDATE with embeds and without edited_timestamp",
    replyExpiresMs: 15 * minute,
    replyExpires: "interactions: acknowledged within 3 seconds, token for 15 minutes; messages: never",
    textLimit: 2_000,
    textUnit: "characters",
    rateLimits: "per route, in headers; 50 requests a second in all; 429 with retry_after",
    retriesMs: [],
    retries: "interactions are not repeated; the gateway replays what a resumed session missed",
    webhookTimeoutMs: 3 * second,
    signature: "X-Signature-Ed25519 over X-Signature-Timestamp and body",
    idScope: "platform",
  },
  line: {
    title: "LINE",
    idempotency: { by: "key", how: "X-Line-Retry-Key of push messages: a repetition gets 409" },
    typingIn: false,
    typingOutMs: 60 * second,
    editsIn: false,
    deletionsIn: true,
    editsOut: false,
    deletionsOut: false,
    albums: "one message a photo, with imageSet { id, index, total }",
    reactions: "none",
    echoes: "none",
    previews: "none",
    replyExpiresMs: minute,
    replyExpires: "a reply token once and for about a minute; push messages: never",
    textLimit: 5_000,
    textUnit: "UTF-16 units",
    rateLimits: "2,000 requests a second; a monthly quota of push messages; 429",
    retriesMs: [],
    retries: "only where redelivery is switched on; deliveryContext.isRedelivery says so",
    webhookTimeoutMs: 2 * second,
    signature: "X-Line-Signature: HMAC-SHA256 of the body",
    idScope: "platform",
  },
} as const satisfies Record<string, Platform>;

export type PlatformName = keyof typeof platforms;

/** The platform of that name; null for one that is not in the table. */
export function platformOf(name: string): Platform | null {
  return Object.hasOwn(platforms, name) ? platforms[name as PlatformName] : null;
}

/** Texts are cut here on platforms that are not in the table. */
export const cautiousTextLimit = 2_000;

/** The table as Markdown, a column a platform. */
export function platformTable(): string {
  const all = Object.values<Platform>(platforms);
  const yes = (value: boolean) => (value ? "yes" : "no");
  const time = (ms: number | null) =>
    ms === null ? "—" : ms >= hour ? `${ms / hour} h` : ms >= minute ? `${ms / minute} min` : `${ms / second} s`;
  const rows: [string, (platform: Platform) => string][] = [
    ["A part sent twice", ({ idempotency: { by, how } }) => `**${by}**: ${how}`],
    ["Hears typing", ({ typingIn }) => yes(typingIn)],
    ["Typing indicator stays", ({ typingOutMs }) => time(typingOutMs)],
    ["Hears edits, deletions", ({ editsIn, deletionsIn }) => `${yes(editsIn)}, ${yes(deletionsIn)}`],
    ["Can edit, delete its own", ({ editsOut, deletionsOut }) => `${yes(editsOut)}, ${yes(deletionsOut)}`],
    ["Albums", ({ albums }) => albums],
    ["Reactions", ({ reactions }) => reactions],
    ["Echoes", ({ echoes }) => echoes],
    ["Previews", ({ previews }) => previews],
    ["An answer can wait", ({ replyExpires }) => replyExpires],
    ["Longest text", ({ textLimit, textUnit }) => `${textLimit.toLocaleString("en")} ${textUnit}`],
    ["Rate limits", ({ rateLimits }) => rateLimits],
    ["A webhook comes again", ({ retries }) => retries],
    ["Webhook's answer within", ({ webhookTimeoutMs }) => time(webhookTimeoutMs)],
    ["Signature", ({ signature }) => signature],
    ["Message ids unique in", ({ idScope }) => idScope],
  ];
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  return [
    line(["", ...all.map(({ title }) => title)]),
    line(["---", ...all.map(() => "---")]),
    ...rows.map(([name, cell]) => line([name, ...all.map(cell)])),
  ].join("\n");
}
