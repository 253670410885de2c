// discord.js with lull: the gateway's messages go to lull, replies go out by REST with a nonce that Discord enforces.
import { createHash } from "node:crypto";
import { type Client, Events, type Message, type PartialMessage, type REST, Routes } from "discord.js";
import { type Channel, Lull, type LullOptions } from "lull";
import { fitting, hear, platforms, sendText } from "lull/channels";

/** Where a reply goes. */
type Address = { channel: "discord"; to: string };

/** Give the REST client `{ retries: 0, rejectOnRateLimit: () => true }`: trying again is lull's. */
export function discordChannel(rest: REST): Channel {
  return {
    name: "discord",
    // The same nonce again within some minutes is the same message.
    idempotent: true,
    deliver: (part, { address, idempotencyKey, signal }) =>
      sendText(part, async (content) => {
        const nonce = createHash("sha256").update(idempotencyKey).digest("base64url").slice(0, 25);
        const body = { content, nonce, enforce_nonce: true };
        const sent = await rest.post(Routes.channelMessages((address as Address).to), { body, signal });
        return (sent as { id: string }).id;
      }),
    async typing(on, { address }) {
      if (on) await rest.post(Routes.channelTyping((address as Address).to));
    },
  };
}

/** A gateway repeats nothing: what cannot be stored is lost, so give lull a store that is there. */
export function lullFor(
  client: Client,
  rest: REST,
  options: LullOptions & Required<Pick<LullOptions, "respond">>,
): Lull {
  const respond = fitting(options.respond, () => platforms.discord.textLimit);
  const lull = new Lull({ ...options, respond, channels: [discordChannel(rest)] });
  const nameOf = (channel: string, guild: unknown, user?: string) => `discord:${channel}${guild ? `:${user}` : ""}`;
  const where = ({ channelId, guildId, author }: Message | PartialMessage) => nameOf(channelId, guildId, author?.id);
  const me = () => client.user?.id ?? "";
  const fromOf = ({ author }: Message | PartialMessage) =>
    author?.id === me() ? "self" : author?.bot ? "bot" : "user";
  client.on(Events.MessageCreate, async (said) => {
    const text = said.content || "(a file)";
    const address: Address = { channel: "discord", to: said.channelId };
    const message = { id: said.id, text, author: said.author.id, sentAt: said.createdTimestamp, address };
    const addressed = said.guildId === null || said.mentions.users.has(me());
    await hear(lull, where(said), { type: "message", message, from: fromOf(said), addressed });
  });
  client.on(Events.MessageUpdate, async (_before, said) => {
    // Without a time of editing it is a preview.
    if (said.editedTimestamp === null) return;
    const change = { id: `${said.id} ${said.editedTimestamp}`, text: said.content || "(a file)" };
    await hear(lull, where(said), { type: "edit", id: said.id, change, from: fromOf(said) });
  });
  client.on(Events.MessageDelete, async (said) => {
    await hear(lull, where(said), { type: "retraction", id: said.id, from: fromOf(said) });
  });
  client.on(Events.TypingStart, ({ channel, guild, user }) => lull.typing(nameOf(channel.id, guild, user.id)));
  return lull;
}
