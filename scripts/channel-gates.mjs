// What has to work on every platform through a real adapter, which tests show it, and where a platform cannot do it.
// The tests run over `able(gate)`, so that what this table says is what they try; docs/channels.md prints it
// (node scripts/channels.mjs), and packages/lull/test/channels/gates.test.ts holds the three together.

/** @typedef {"telegram" | "slack" | "whatsapp" | "discord"} Name */
/** @typedef {{ why: string, source: string }} Reason */
/** @typedef {{ file: string, test: string }} Proof `test` stands in the file as it is here */
/** @typedef {{ title: string, withLull: Proof, server: Proof, cannot?: Partial<Record<Name, Reason>>, notes?: Partial<Record<Name, string>> }} Gate */

/** @type {readonly Name[]} */
export const names = ["telegram", "slack", "whatsapp", "discord"];
const titles = { telegram: "Telegram", slack: "Slack", whatsapp: "WhatsApp", discord: "Discord" };

const bot = "packages/lull/test/chat-sdk/platforms.test.ts";
const killed = "packages/lull/test/chat-sdk/crash.process.test.ts";
const server = "packages/lull-server/test/channels.test.ts";
const servers = "packages/lull-server/test/channels.process.test.ts";
const overGateway = "handed on from the gateway";

/** @satisfies {Record<string, Gate>} */
export const gates = {
  burst: {
    title: "a burst, a repetition and a message in generation: one reply",
    withLull: { file: bot, test: "a burst, a repetition and a message in generation are one reply" },
    server: { file: server, test: "a burst, a repetition and a message in generation are one reply" },
  },
  kill: {
    title: "kill -9 while it thinks: answered by the other process",
    withLull: { file: killed, test: "killed while it thinks, answered by the other process with everything" },
    server: { file: servers, test: "a server that is killed while it thinks is replaced on every platform at once" },
  },
  write: {
    title: "a write that fails: the platform delivers again, and is answered once",
    withLull: { file: bot, test: "what could not be stored is not acknowledged, and its repetition is answered" },
    server: {
      file: servers,
      test: "what a server cannot write is not acknowledged, and delivered again it is answered",
    },
    cannot: {
      discord: {
        why: "nothing is delivered again: what forwards the gateway is answered 503 and has to try again",
        source: "https://docs.discord.com/developers/events/gateway",
      },
    },
  },
  refusal: {
    title: "429: later, once",
    withLull: { file: bot, test: "429 is tried later, once" },
    server: { file: server, test: "429 is tried later, once" },
  },
  edit: {
    title: "an edit in the window: the question is the changed one",
    withLull: { file: bot, test: "an edit in the window changes the question" },
    server: { file: server, test: "an edit in the window changes the question" },
    cannot: {
      whatsapp: {
        why: "comes as a message of a kind that is not supported; only numbers that are in the WhatsApp Business app as well are told of edits",
        source:
          "https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/edit",
      },
    },
    notes: { discord: overGateway },
  },
  deletion: {
    title: "a deletion in the window: what was deleted is not answered",
    withLull: { file: bot, test: "what is deleted in the window is not answered" },
    server: { file: server, test: "what is deleted in the window is not answered" },
    cannot: {
      telegram: {
        why: "bots hear of deletions in the chats of a connected business account only",
        source: "https://core.telegram.org/bots/api#update",
      },
      whatsapp: {
        why: "only numbers that are in the WhatsApp Business app as well are told of deletions",
        source:
          "https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/revoke",
      },
    },
    notes: { discord: overGateway },
  },
  album: {
    title: "an album: one turn",
    withLull: { file: bot, test: "an album is one turn" },
    server: { file: server, test: "an album is one turn" },
    notes: { whatsapp: "by the window alone: nothing says that photos belong together" },
  },
  stop: {
    title: "a stop word: acts at once, in the middle of an answer",
    withLull: { file: bot, test: "a stop word ends the answer at once" },
    server: { file: server, test: "a stop word ends the answer at once" },
  },
};

/** The platforms that can do it. @param {keyof typeof gates} gate @returns {Name[]} */
export function able(gate) {
  /** @type {Gate} */
  const { cannot = {} } = gates[gate];
  return names.filter((name) => cannot[name] === undefined);
}

/** As Markdown, for a page in docs/. */
export function gateTable() {
  const proof = (/** @type {Proof} */ { file, test }) => `[\`${test}\`](../${file})`;
  const row = (/** @type {Gate} */ { title, cannot = {}, notes = {}, ...ways }) => {
    const cell = (/** @type {Name} */ name) => {
      const reason = cannot[name];
      if (reason !== undefined) return `no: ${reason.why} ([source](${reason.source}))`;
      const note = notes[name];
      return note === undefined ? "yes" : `yes, ${note}`;
    };
    return [title, ...names.map(cell), proof(ways.withLull), proof(ways.server)];
  };
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(" | ")} |`;
  const head = ["", ...names.map((name) => titles[name]), "`withLull`", "`lull serve`"];
  return [line(head), line(head.map(() => "---")), ...Object.values(gates).map((gate) => line(row(gate)))].join("\n");
}
