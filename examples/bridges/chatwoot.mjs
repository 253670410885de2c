// An agent bot of Chatwoot: node chatwoot.mjs. The bot's webhook is https://…/platform; lull's LULL_DELIVER is
// http://127.0.0.1:9000/deliver, LULL_KEY one of the role `operate`, since people take conversations over.
import { createHmac } from "node:crypto";
import { callPlatform, pathOf, sameSecret, serve, setting, textOf } from "./bridge.mjs";

const api = setting("CHATWOOT_URL", "where Chatwoot is, as https://app.chatwoot.com").replace(/\/+$/, "");
const token = setting("CHATWOOT_TOKEN", "the agent bot's access token");
// Chatwoot signs the webhooks of agent bots since April 2026. An older one needs the secret in the bot's address: /platform?secret=…
const secret = setting("CHATWOOT_WEBHOOK_SECRET", "the agent bot's webhook secret");

serve("chatwoot.mjs", {
  isGenuine({ url, headers, body }) {
    const at = headers["x-chatwoot-timestamp"];
    const given = headers["x-chatwoot-signature"];
    if (given === undefined) return sameSecret(secret, new URL(url, "http://bridge").searchParams.get("secret") ?? "");
    const isFresh = Math.abs(Date.now() / 1_000 - Number(at)) < 300;
    return isFresh && sameSecret(`sha256=${createHmac("sha256", secret).update(`${at}.${body}`).digest("hex")}`, given);
  },

  // Chatwoot waits for five seconds; a webhook that fails opens the conversation for people.
  async hear({ body }, lull) {
    const hook = JSON.parse(body);
    const about = hook.conversation ?? hook; // events of conversations are the conversation
    const account = hook.account?.id ?? about.account_id ?? about.messages?.[0]?.account_id;
    const conversation = `chatwoot:${account}:${about.id}`;
    if (hook.event === "message_created" && !hook.private && hook.content) {
      const sentAt = new Date(hook.created_at);
      if (hook.message_type === "incoming") {
        // "Pending" is the bot's, "open" people's. Nothing tells a bot that it was given a conversation back, but each message does.
        const isPeoples = about.status === "open" || about.status === "snoozed";
        await lull("POST", `${pathOf(conversation)}/${isPeoples ? "handoff" : "resume"}`);
        return lull("POST", "/v1/messages", {
          conversation,
          id: String(hook.id),
          text: hook.content,
          author: `contact:${hook.sender?.id}`,
          ...(Number.isNaN(sentAt.getTime()) ? {} : { sentAt: sentAt.toISOString() }),
          address: { account, conversation: about.id },
        });
      }
      // The bot's own messages come back, too: those are of another type of sender.
      if (hook.message_type === "outgoing" && hook.sender?.type === "user")
        return lull("POST", `${pathOf(conversation)}/human-replies`, { id: String(hook.id), text: hook.content });
    }
    // Somebody took it: what the bot is about to say is not said any more.
    if (hook.event === "conversation_opened") return lull("POST", `${pathOf(conversation)}/handoff`);
  },

  async send({ address, part }) {
    const url = `${api}/api/v1/accounts/${address.account}/conversations/${address.conversation}/messages`;
    const { id } = await callPlatform(url, {
      method: "POST",
      headers: { api_access_token: token, "content-type": "application/json" },
      body: JSON.stringify({ content: textOf(part), message_type: "outgoing" }),
    });
    return String(id);
  },
});
