/**
 * The chat on the screen: a button that opens it, what was said, how things stand, a field to write in. Only changes what
 * has changed, so that selections, focus and screen readers stay where they are.
 *
 * @module
 */

import { icon, icons, make } from "./dom.ts";
import type { LineState } from "./line.ts";
import { piecesOf, safeHref } from "./links.ts";
import type { Strings } from "./strings.ts";
import type { Line, Talk } from "./talk.ts";

export interface ViewOptions {
  strings: Strings;
  language: string;
  direction: "ltr" | "rtl";
  /** Part of the page, instead of floating above it. */
  isInline: boolean;
  heading: string;
  /** Shown above everything, as if the bot had said it; "": nothing. */
  greeting: string;
  hasLinks: boolean;
  onToggle(open: boolean): void;
  onSend(text: string): void;
  onType(isEmpty: boolean): void;
  onRetry(id: string): void;
  onDiscard(id: string): void;
  onOlder(): Promise<void>;
}

export interface Shown {
  talk: Talk;
  line: LineState;
  /** The connection has been away for longer than a blink. */
  isAway: boolean;
  isOpen: boolean;
  unread: number;
}

export interface View {
  element: HTMLElement;
  paint(shown: Shown): void;
  focusField(): void;
  focusLauncher(): void;
  /** To the newest message. */
  scrollToEnd(): void;
  /** What is typed and not sent. */
  text: string;
}

/** This near to the end, the newest message stays in sight. */
const nearPx = 80;
const leaveMs = 300;

export function createView(options: ViewOptions): View {
  const { strings, isInline } = options;
  const clock = new Intl.DateTimeFormat(options.language, { hour: "numeric", minute: "2-digit" });
  const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  const unread = make("span", "unread", { "aria-hidden": "true" });
  const launcher = make("button", "launcher", { type: "button", "aria-expanded": "false" }, icon(icons.chat), unread);
  const close = make("button", "close", { type: "button", "aria-label": strings.close }, icon(icons.close));
  const title = make("h2", "title", { id: "title" }, options.heading);
  const older = make("button", "older", { type: "button" }, strings.older);
  const log = make("div", "log", { role: "log", "aria-live": "off", "aria-relevant": "additions" });
  log.setAttribute("aria-label", strings.messages);
  const draftText = make("div", "bubble", { dir: "auto" });
  const dots = make("div", "typing", {}, make("i", ""), make("i", ""), make("i", ""));
  // Only the finished answer is read out.
  const draft = make("div", "message bot draft", { "aria-hidden": "true" }, draftText);
  const scroll = make("div", "scroll", { tabindex: "0", role: "group", "aria-label": strings.messages }, older);
  if (options.greeting !== "") scroll.append(bubbleOf("bot", strings.bot, options.greeting, options.hasLinks));
  scroll.append(log, draft);
  const status = make("div", "status", { role: "status" });
  const field = make("textarea", "input", { id: "field", rows: "1", placeholder: strings.message, dir: "auto" });
  field.setAttribute("enterkeyhint", "send");
  const label = make("label", "", { for: "field", class: "unseen" }, strings.message);
  const send = make("button", "send", { type: "submit", "aria-label": strings.send }, icon(icons.send));
  const form = make("form", "form", {}, label, field, send);
  const head = make("header", "head", {}, title);
  const panel = make("section", "panel", { id: "panel" }, head, scroll, status, form);
  if (isInline) panel.setAttribute("role", "presentation");
  else {
    head.append(close);
    panel.setAttribute("role", "dialog");
    panel.setAttribute("aria-labelledby", "title");
    launcher.setAttribute("aria-controls", "panel");
  }
  const element = make("div", "root", { role: "region", "aria-label": options.heading, lang: options.language });
  element.dir = options.direction;
  element.append(panel);
  if (!isInline) element.append(launcher);

  launcher.addEventListener("click", () => options.onToggle(true));
  close.addEventListener("click", () => options.onToggle(false));
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing || isInline) return;
    event.stopPropagation();
    options.onToggle(false);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  field.addEventListener("keydown", (event) => {
    // Enter also ends the input of Japanese, Chinese or Korean words: then it sends nothing.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  field.addEventListener("input", () => options.onType(field.value.trim() === ""));
  older.addEventListener("click", async () => {
    const before = scroll.scrollHeight - scroll.scrollTop;
    quietly(() => {});
    await options.onOlder();
    // What was in sight stays there.
    scroll.scrollTop = scroll.scrollHeight - before;
    if (older.hidden) scroll.focus();
  });

  function submit(): void {
    const text = field.value.trim();
    if (text === "") return;
    field.value = "";
    options.onSend(text);
    scrollToEnd();
  }

  /** Nothing of what `act` adds is read out: it is not news. */
  let speaks: ReturnType<typeof setTimeout> | undefined;
  function quietly(act: () => void): void {
    log.setAttribute("aria-live", "off");
    act();
    clearTimeout(speaks);
    speaks = setTimeout(() => log.setAttribute("aria-live", "polite"), 1_000);
  }

  function scrollToEnd(): void {
    scroll.scrollTop = scroll.scrollHeight;
  }

  const nodes = new Map<string, { node: HTMLElement; print: string }>();

  function paintLines(lines: Line[], isFirst: boolean): void {
    const lastOwn = lines.findLast((line) => line.from === "visitor")?.key;
    const keys = new Set(lines.map(({ key }) => key));
    for (const [key, { node }] of nodes)
      if (!keys.has(key)) {
        node.remove();
        nodes.delete(key);
      }
    let place = log.firstElementChild;
    for (const line of lines) {
      const print = JSON.stringify([line, line.key === lastOwn]);
      let known = nodes.get(line.key);
      if (known?.print !== print) {
        const node = known?.node ?? make("div", "");
        fill(node, line, line.key === lastOwn);
        if (known === undefined && !isFirst) node.classList.add("new");
        known = { node, print };
        nodes.set(line.key, known);
      }
      if (known.node === place) place = place.nextElementSibling;
      else log.insertBefore(known.node, place);
    }
  }

  function fill(node: HTMLElement, line: Line, isLastOwn: boolean): void {
    const isNew = node.classList.contains("new");
    const meta = make("div", "meta", {}, make("time", "", { datetime: new Date(line.at).toISOString() }));
    (meta.firstChild as HTMLElement).textContent = clock.format(line.at);
    let filled: HTMLElement;
    if (line.from === "visitor") {
      filled = bubbleOf("own", strings.you, line.text, options.hasLinks);
      if (line.edited) meta.append(make("span", "", {}, strings.edited));
      if (line.progress !== "sent" || isLastOwn) meta.append(make("span", "progress", {}, strings[line.progress]));
      if (line.progress === "refused") {
        meta.classList.add("bad");
        const { id } = line;
        meta.append(
          button(strings.retry, () => options.onRetry(id)),
          button(strings.discard, () => options.onDiscard(id)),
        );
      }
    } else {
      const { part } = line;
      const who = line.from === "human" ? strings.human : strings.bot;
      if (part.type === "text") filled = bubbleOf(line.from, who, part.text, options.hasLinks);
      else if (part.type === "file") filled = fileOf(line.from, who, part.url, part.filename ?? strings.file);
      // For the page, which gets it as an event: there is nothing here that could show it.
      else filled = make("div", "message data", { hidden: true });
    }
    node.className = filled.className;
    node.setAttribute("part", filled.getAttribute("part") ?? "");
    node.hidden = filled.hidden;
    if (isNew) node.classList.add("new");
    node.replaceChildren(...filled.childNodes, meta);
  }

  let wasDraft: string | null = null;
  let leaving: ReturnType<typeof setTimeout> | undefined;

  function paintDraft({ draft: text, takenBack, state }: Talk): void {
    if (text !== null) {
      clearTimeout(leaving);
      leaving = undefined;
      draft.classList.remove("back");
      draftText.textContent = text;
    } else if (wasDraft !== null && takenBack && !isCalm()) {
      // It fades, so that it is seen to go.
      draft.classList.add("back");
      leaving = setTimeout(() => {
        leaving = undefined;
        draft.classList.remove("back");
        draftText.replaceChildren(dots);
        draft.hidden = !isTyping;
      }, leaveMs);
    } else if (leaving === undefined) draftText.replaceChildren(dots);
    wasDraft = text;
    isTyping = state === "answering";
    draft.hidden = text === null && leaving === undefined && !isTyping;
  }
  let isTyping = false;

  function statusOf({ talk, line, isAway }: Shown): string {
    if (line.is === "refused") return strings.unavailable;
    if (isAway) return strings.offline;
    if (talk.seq === null) return strings.connecting;
    if (talk.takenBack) return strings.takenBack;
    if (talk.state === "waiting") return strings.waiting;
    if (talk.state === "answering") return strings.answering;
    if (talk.state === "human") return strings.withHuman;
    return talk.failed ? strings.failed : "";
  }

  let isPainted = false;
  return {
    element,
    paint(shown) {
      const { talk } = shown;
      const isNear = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < nearPx;
      const isFirst = !isPainted && talk.seq !== null;
      const wasHidden = panel.hidden;
      panel.hidden = !isInline && !shown.isOpen;
      launcher.hidden = !panel.hidden;
      launcher.setAttribute("aria-expanded", String(!panel.hidden));
      const count = shown.unread > 0 ? ` (${shown.unread})` : "";
      launcher.setAttribute("aria-label", strings.open + count);
      unread.textContent = String(shown.unread);
      unread.hidden = shown.unread === 0;
      older.hidden = talk.older === null;
      if (isFirst) quietly(() => paintLines(talk.lines(), true));
      else paintLines(talk.lines(), !isPainted);
      isPainted ||= isFirst;
      paintDraft(talk);
      const text = statusOf(shown);
      if (status.textContent !== text) status.textContent = text;
      status.classList.toggle("bad", shown.line.is === "refused" || shown.isAway || talk.failed);
      if (isNear || isFirst || wasHidden) scrollToEnd();
    },
    focusField: () => field.focus(),
    focusLauncher: () => launcher.focus(),
    scrollToEnd,
    get text() {
      return field.value;
    },
    set text(value) {
      field.value = value;
    },
  };
}

function bubbleOf(side: "own" | "bot" | "human", who: string, text: string, hasLinks: boolean): HTMLElement {
  const bubble = make("div", "bubble", { dir: "auto" });
  for (const { text: piece, href } of hasLinks ? piecesOf(text) : [{ text, href: null }])
    bubble.append(href === null ? piece : linkTo(href, piece));
  return make("div", `message ${side}`, {}, make("span", "", { class: "unseen" }, `${who}: `), bubble);
}

/** A file is never loaded by itself: whose server it lies on would learn who reads here. */
function fileOf(side: "bot" | "human", who: string, url: string | null, name: string): HTMLElement {
  const href = url === null ? null : safeHref(url);
  const node = bubbleOf(side, who, "", false);
  node.querySelector(".bubble")?.append(href === null ? name : linkTo(href, name));
  return node;
}

function linkTo(href: string, text: string): HTMLElement {
  return make("a", "link", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, text);
}

function button(text: string, act: () => void): HTMLElement {
  const made = make("button", "action", { type: "button" }, text);
  made.addEventListener("click", act);
  return made;
}
