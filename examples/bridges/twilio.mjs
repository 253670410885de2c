// SMS by Twilio: node twilio.mjs. The number's webhook ("A message comes in", POST) is PUBLIC_URL/platform; lull's LULL_DELIVER is
// http://127.0.0.1:9000/deliver.
import { createHmac } from "node:crypto";
import { callPlatform, sameSecret, serve, setting, textOf } from "./bridge.mjs";

const account = setting("TWILIO_ACCOUNT_SID", "AC… of the console");
const token = setting("TWILIO_AUTH_TOKEN", "the console's; it signs webhooks and authorizes calls");
// The signature covers the address as Twilio called it, which a program behind a proxy cannot know.
const publicUrl = setting("PUBLIC_URL", "where Twilio reaches this bridge, as https://sms.example").replace(/\/+$/, "");
const api = process.env.TWILIO_API ?? "https://api.twilio.com";

/** Twilio's limit for one message; longer texts go out as several. */
const mostChars = 1_600;

serve("twilio.mjs", {
  isGenuine({ url, headers, body }) {
    // HMAC-SHA1 over the address and every form field, sorted by name, name and value in a row.
    const fields = [...new URLSearchParams(body)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flat()
      .join("");
    return sameSecret(
      createHmac("sha1", token)
        .update(publicUrl + url + fields)
        .digest("base64"),
      headers["x-twilio-signature"],
    );
  },

  async hear({ body }, lull) {
    const form = Object.fromEntries(new URLSearchParams(body));
    const files = Array.from({ length: Number(form.NumMedia ?? 0) }, (_, index) => ({
      type: "file",
      mediaType: form[`MediaContentType${index}`],
      url: form[`MediaUrl${index}`],
    }));
    const parts = [...(form.Body ? [form.Body] : []), ...files];
    if (parts.length > 0)
      await lull("POST", "/v1/messages", {
        conversation: `sms:${form.To}:${form.From}`,
        id: form.MessageSid,
        parts,
        author: form.From,
        address: { from: form.To, to: form.From },
      });
    // No answer yet: it comes through the API when the person has finished.
    return { headers: { "content-type": "text/xml" }, body: "<Response/>" };
  },

  async send({ address, part }) {
    let sid;
    for (const piece of pieces(textOf(part)))
      ({ sid } = await callPlatform(`${api}/2010-04-01/Accounts/${account}/Messages.json`, {
        method: "POST",
        headers: { authorization: `Basic ${Buffer.from(`${account}:${token}`).toString("base64")}` },
        body: new URLSearchParams({ From: address.from, To: address.to, Body: piece }),
      }));
    return sid;
  },
});

/** @param {string} text */
function pieces(text) {
  const chars = [...text]; // whole characters, no halves of emoji
  return Array.from({ length: Math.ceil(chars.length / mostChars) }, (_, index) =>
    chars.slice(index * mostChars, (index + 1) * mostChars).join(""),
  );
}
