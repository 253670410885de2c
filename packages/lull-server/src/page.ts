/**
 * The page at `/`: a chat, and beside it the live list of what the engine does with it. One string without
 * outside assets, so that it works offline and under a policy that allows nothing else.
 *
 * @module
 */
import { createHash } from "node:crypto";

const style = `
:root { color-scheme: light dark; --bg:#f6f5f2; --card:#fffefb; --ink:#23211d; --soft:#6f6a61; --line:#e2ded5; --mine:#2f5d50; --mine-ink:#fff; --bot:#ece8df; --warm:#a8572a; }
@media (prefers-color-scheme: dark) { :root { --bg:#171816; --card:#1f211e; --ink:#eceae4; --soft:#9b978d; --line:#33352f; --mine:#3f7a69; --bot:#2b2e29; --warm:#e39a6b; } }
* { box-sizing:border-box }
body { margin:0; background:var(--bg); color:var(--ink); font:16px/1.5 system-ui,sans-serif; height:100dvh; display:grid; grid-template-rows:auto 1fr }
header { display:flex; gap:.75rem; align-items:baseline; padding:.9rem 1.25rem; flex-wrap:wrap }
h1 { font-size:1.15rem; margin:0; letter-spacing:.01em } header p { margin:0; color:var(--soft); font-size:.9rem; flex:1 }
main { display:grid; grid-template-columns:minmax(0,1fr) minmax(0,24rem); gap:1rem; padding:0 1.25rem 1.25rem; min-height:0 }
section { background:var(--card); border:1px solid var(--line); border-radius:14px; display:flex; flex-direction:column; min-height:0; overflow:hidden }
h2 { font-size:.8rem; font-weight:600; color:var(--soft); margin:0; padding:.7rem 1rem; border-bottom:1px solid var(--line) }
#chat, #events { flex:1; scrollbar-width:thin; overflow-y:auto; padding:1rem; margin:0; list-style:none; display:flex; flex-direction:column; gap:.4rem }
#chat li { max-width:80%; padding:.5rem .85rem; border-radius:16px; white-space:pre-wrap; overflow-wrap:anywhere }
.mine { align-self:flex-end; background:var(--mine); color:var(--mine-ink); border-bottom-right-radius:5px }
.bot { align-self:flex-start; background:var(--bot); border-bottom-left-radius:5px }
.waiting { opacity:.7 } .note { align-self:center; color:var(--soft); font-size:.85rem; text-align:center }
#state { min-height:1.6rem; padding:0 1.1rem; color:var(--soft); font-size:.85rem }
form { display:flex; gap:.5rem; padding:.8rem; border-top:1px solid var(--line) }
input { flex:1; min-width:0; font:inherit; color:inherit; background:var(--bg); border:1px solid var(--line); border-radius:10px; padding:.55rem .8rem }
button { font:inherit; font-weight:600; border:0; border-radius:10px; padding:.55rem 1.1rem; background:var(--mine); color:var(--mine-ink); cursor:pointer }
:focus-visible { outline:2px solid var(--warm); outline-offset:1px }
#events { font:12.5px/1.5 ui-monospace,monospace; gap:.15rem } #events li { display:grid; grid-template-columns:5.6rem 1fr; gap:.5rem }
#events time { color:var(--soft) } #events .hot { color:var(--warm) } #events small { color:var(--soft); display:block; overflow-wrap:anywhere }
#locked { padding:1rem; display:none; gap:.5rem; flex-wrap:wrap } .locked #locked { display:flex } .locked #say { display:none }
@media (max-width:760px) { body { height:auto } main { grid-template-columns:1fr } section { height:60dvh } }
`;

const script = `
const $ = (id) => document.getElementById(id);
const conversation = location.hash.slice(1) ? decodeURIComponent(location.hash.slice(1)) : "page:" + Math.random().toString(36).slice(2, 8);
history.replaceState(null, "", "#" + encodeURIComponent(conversation));
const path = "/v1/conversations/" + encodeURIComponent(conversation);
let key = sessionStorage.getItem("lull-key") || "";
let last = 0, quietAt = 0, words = "";
const pending = new Map();
const headers = () => (key ? { authorization: "Bearer " + key } : {});
$("name").textContent = conversation;

function add(list, node) {
  const end = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
  list.append(node);
  if (end) list.scrollTop = list.scrollHeight;
}
function bubble(kind, text) {
  const node = document.createElement("li");
  node.className = kind;
  node.textContent = text;
  add($("chat"), node);
  return node;
}
const textOf = (parts) => parts.map((part) => part.type === "text" ? part.text : "[" + (part.filename || part.mediaType || "data") + "]").join("\\n");
function status(text, until) { words = text; quietAt = until ? Date.parse(until) : 0; tick(); }
function tick() {
  const left = quietAt - Date.now();
  $("state").textContent = words + (left > 0 ? ", " + (left / 1000).toFixed(1) + " s of quiet to go" : "");
}
setInterval(tick, 100);

function details({ type, entry, quietAt: until, on }) {
  if (type === "window.armed") return "answer not before " + new Date(until).toLocaleTimeString([], { hour12: false });
  if (type === "typing") return on ? "shown" : "hidden";
  if (!entry) return "";
  if (entry.kind === "attempt") return "inputs " + (entry.from + 1) + "–" + entry.to + ", attempt " + entry.attempt;
  if (entry.kind === "reply") return "covers inputs " + (entry.from + 1) + "–" + entry.to + (entry.overtaken ? ", overtaken" : "");
  if (entry.kind === "ended") return entry.error || "";
  if (entry.kind === "receipt") return "part " + (entry.index + 1) + (entry.error ? ": " + entry.error : "");
  if (entry.kind === "settled") return entry.outcome + (entry.reason ? ": " + entry.reason : "");
  if (entry.kind === "message") return "version " + entry.version;
  return "";
}
const replies = new Map();
function seen(event) {
  const line = document.createElement("li"), time = document.createElement("time"), what = document.createElement("span"), more = document.createElement("small");
  time.textContent = new Date(event.at).toLocaleTimeString([], { hour12: false }) + "." + String(new Date(event.at).getMilliseconds()).padStart(3, "0");
  what.textContent = event.type;
  if (/superseded|failed|parked|withdrawn|expired/.test(event.type)) what.className = "hot";
  more.textContent = details(event);
  what.append(more);
  line.append(time, what);
  add($("events"), line);
  const entry = event.entry;
  if (event.type === "message.received") { if (!pending.delete(entry.id)) bubble("mine", textOf(entry.parts)); status("heard you"); }
  else if (event.type === "window.armed") status("waiting for you to finish", event.quietAt);
  else if (event.type === "attempt.started") status("thinking", quietAt > Date.now() ? new Date(quietAt).toISOString() : null);
  else if (event.type === "attempt.superseded") { words = "you wrote more: starting over"; tick(); }
  else if (event.type === "reply.committed") { replies.set(entry.replyId, entry.parts.map((part) => bubble("bot waiting", textOf([part])))); status(""); }
  else if (event.type === "part.added") { const list = replies.get(entry.replyId) || []; list.push(bubble("bot waiting", textOf([entry.part]))); replies.set(entry.replyId, list); }
  else if (event.type === "part.sent") { const node = (replies.get(entry.replyId) || [])[entry.index]; if (node) node.className = "bot"; }
  else if (event.type === "reply.withdrawn") for (const node of replies.get(entry.replyId) || []) node.remove();
  else if (event.type === "human.replied") bubble("bot", textOf(entry.parts));
  else if (event.type === "inputs.parked") { bubble("note", "Given up: " + (entry.reason || "see the log")); status(""); }
}

async function watch() {
  for (;;) {
    try {
      const response = await fetch(path + "/events", { headers: { ...headers(), "last-event-id": String(last) } });
      if (response.status === 401 || response.status === 403) { document.body.classList.add("locked"); return; }
      document.body.classList.remove("locked");
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        const blocks = (rest + value).split("\\n\\n");
        rest = blocks.pop();
        for (const block of blocks) {
          const fields = Object.fromEntries(block.split("\\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
          if (fields.id) last = Number(fields.id);
          if (fields.data) seen(JSON.parse(fields.data));
        }
      }
    } catch { status("the server is away; trying again"); }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
async function post(url, body) {
  const response = await fetch(url, { method: "POST", headers: { ...headers(), "content-type": "application/json" }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error((await response.json()).detail);
}
$("say").onsubmit = (event) => {
  event.preventDefault();
  const text = $("text").value;
  if (!text.trim()) return;
  $("text").value = "";
  const id = crypto.randomUUID ? crypto.randomUUID() : String(Math.random());
  pending.set(id, true);
  const node = bubble("mine", text);
  post("/v1/messages", { conversation, id, text, author: "you" }).catch((error) => { pending.delete(id); node.remove(); bubble("note", error.message); $("text").value ||= text; });
};
let typed = 0;
$("text").oninput = () => {
  if (pending.size + last === 0 || Date.now() - typed < 2000) return;
  typed = Date.now();
  post(path + "/typing", {}).catch(() => {});
};
$("locked").onsubmit = (event) => { event.preventDefault(); key = $("key").value; sessionStorage.setItem("lull-key", key); watch(); };
bubble("note", "Write the way people do: a few short messages, one after the other. You get one answer to all of them.");
watch();
$("text").focus();
`;

function hash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** Allows this page's own style and script, and requests to this server; nothing else. */
export const pagePolicy = `default-src 'none'; style-src ${hash(style)}; script-src ${hash(script)}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export const page = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>lull</title><link rel="icon" href="data:,"><style>${style}</style></head>
<body>
<header><h1>lull</h1><p>hears you out, then answers once</p><code id="name"></code></header>
<main>
<section aria-label="Chat"><h2>Chat</h2><ol id="chat" aria-live="polite"></ol><div id="state" role="status"></div>
<form id="locked"><input id="key" type="password" aria-label="Key" placeholder="This server wants a key (role send+read)" autocomplete="off"><button>Unlock</button></form>
<form id="say"><input id="text" aria-label="Message" placeholder="Write a message" autocomplete="off" maxlength="10000"><button>Send</button></form></section>
<section aria-label="Events"><h2>What lull does</h2><ol id="events"></ol></section>
</main>
<script>${script}</script>
</body>
</html>
`;
