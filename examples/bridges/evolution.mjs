// WhatsApp by Evolution API (v2): node evolution.mjs. The instance's webhook (event MESSAGES_UPSERT, byEvents false) is
// http://127.0.0.1:9000/platform with the header `authorization: Bearer EVOLUTION_WEBHOOK_SECRET`, since Evolution API signs nothing;
// lull's LULL_DELIVER is http://127.0.0.1:9000/deliver.
import { callPlatform, pathOf, sameSecret, serve, setting, textOf } from "./bridge.mjs";

const api = setting("EVOLUTION_URL", "where Evolution API is, as http://127.0.0.1:8081").replace(/\/+$/, "");
const key = setting("EVOLUTION_KEY", "the instance's token");
const secret = setting("EVOLUTION_WEBHOOK_SECRET", "any long random text; the webhook's headers carry it");

/** Our own messages come back as messages.upsert, too: those are known by their ids. @type {Set<string>} */
const ours = new Set();
/** Sends that have not been answered: their ids are not known yet. @type {Set<Promise<any>>} */
const underWay = new Set();

serve("evolution.mjs", {
  isGenuine: ({ headers }) => sameSecret(`Bearer ${secret}`, headers.authorization),

  async hear({ body }, lull) {
    const { event, instance, data } = JSON.parse(body);
    const { remoteJid, fromMe, id, participant } = data?.key ?? {};
    const isChat = /@(s\.whatsapp\.net|lid|g\.us)$/.test(remoteJid ?? ""); // no broadcasts, no status updates
    const text = textFrom(data?.message);
    if (event !== "messages.upsert" || !isChat || text === null) return;
    const conversation = `whatsapp:${instance}:${remoteJid}`;
    if (!fromMe)
      await lull("POST", "/v1/messages", {
        conversation,
        id,
        text,
        author: participant ?? remoteJid,
        ...(data.messageTimestamp ? { sentAt: new Date(Number(data.messageTimestamp) * 1_000).toISOString() } : {}),
        address: { instance, number: remoteJid },
      });
    // Not ours, and from this number: a person answered on the telephone. What it answers needs no second answer.
    else if (!(await isOurs(id))) await lull("POST", `${pathOf(conversation)}/human-replies`, { id, text });
  },

  async send({ address, part }) {
    const url = `${api}/message/sendText/${encodeURIComponent(address.instance)}`;
    const sending = callPlatform(url, {
      method: "POST",
      headers: { apikey: key, "content-type": "application/json" },
      body: JSON.stringify({ number: address.number, text: textOf(part) }),
    });
    underWay.add(sending);
    try {
      const { key: sent } = await sending;
      if (sent?.id) ours.add(sent.id);
      if (ours.size > 10_000) ours.delete(/** @type {string} */ (ours.values().next().value));
      return sent?.id;
    } finally {
      underWay.delete(sending);
    }
  },
});

/** The webhook of a sent message may overtake the answer that says its id. @param {string} id */
async function isOurs(id) {
  if (!ours.has(id)) await Promise.race([Promise.allSettled(underWay), new Promise((done) => setTimeout(done, 2_000))]);
  return ours.has(id);
}

/** What somebody wrote, or null for what lull need not know (reactions, receipts of keys). @param {any} message */
function textFrom(message) {
  const media = message?.imageMessage ?? message?.videoMessage ?? message?.documentMessage;
  if (message?.audioMessage) return "(a voice message)";
  return message?.conversation ?? message?.extendedTextMessage?.text ?? (media ? media.caption || "(a file)" : null);
}
