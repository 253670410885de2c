/**
 * `<lull-chat>`: a chat in a page. Attributes, properties, methods and events are described in docs/web-chat.md.
 *
 * @module
 */
import { tokenFrom } from "./access.ts";
import { type Chat, createChat } from "./chat.ts";
import type { ChatEvent } from "./events.ts";
import { sheet } from "./looks.ts";
import { directionOf, languageOf, type Strings, stringsOf } from "./strings.ts";
import { createView, type View } from "./view.ts";

/** Each makes another chat, or another look of the same. */
const chatAttributes = ["server", "token-url"];
const viewAttributes = ["lang", "dir", "layout", "heading", "greeting", "links"];

/** A connection that is away for less than this is not worth a word. */
const awayMs = 2_000;

// In a program that renders pages on a server, the module is loaded, and nothing more.
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

export class LullChat extends Base {
  static readonly observedAttributes = [...chatAttributes, ...viewAttributes, "open"];
  /** Where the server is, if no attribute says so: where the script came from. */
  static server = "";

  #root = this.attachShadow({ mode: "closed" });
  #chat: Chat | null = null;
  #view: View | null = null;
  #strings: Partial<Strings> = {};
  #getToken: (() => string | Promise<string>) | null = null;
  #unread = 0;
  #isAway = false;
  #away: ReturnType<typeof setTimeout> | undefined;
  #painting = false;

  constructor() {
    super();
    this.#root.adoptedStyleSheets = [sheet()];
  }

  /** The site's own words, in place of some of ours. */
  get strings(): Partial<Strings> {
    return this.#strings;
  }
  set strings(own: Partial<Strings>) {
    this.#strings = own;
    this.#showAnew();
  }

  /** Gets a visitor's token, in place of `token-url`. */
  get getToken(): (() => string | Promise<string>) | null {
    return this.#getToken;
  }
  set getToken(get: (() => string | Promise<string>) | null) {
    this.#getToken = get;
    this.#beginAnew();
  }

  get isOpen(): boolean {
    return this.hasAttribute("open") || this.#isInline;
  }

  open(): void {
    this.setAttribute("open", "");
    this.#view?.focusField();
  }

  close(): void {
    this.removeAttribute("open");
    this.#view?.focusLauncher();
  }

  /** Sends a text, as if it had been typed. */
  send(text: string): void {
    if (text.trim() === "") return;
    this.#chat?.start();
    this.#chat?.send(text.trim());
  }

  connectedCallback(): void {
    // Set before this script had loaded, they are the element's own, and hide what is here.
    for (const name of ["strings", "getToken"] as const)
      if (Object.hasOwn(this, name)) {
        const value = this[name];
        delete (this as Partial<LullChat>)[name];
        (this as Record<string, unknown>)[name] = value;
      }
    this.#beginAnew();
  }

  disconnectedCallback(): void {
    this.#chat?.stop();
    this.#chat = null;
    clearTimeout(this.#away);
  }

  attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    if (before === now || this.#chat === null) return;
    if (chatAttributes.includes(name)) this.#beginAnew();
    else if (viewAttributes.includes(name)) this.#showAnew();
    else this.#opened();
  }

  get #isInline(): boolean {
    return this.getAttribute("layout") === "inline";
  }

  #beginAnew(): void {
    if (!this.isConnected) return;
    this.#chat?.stop();
    const given = this.getAttribute("server") ?? LullChat.server;
    const server = new URL(given.endsWith("/") || given === "" ? given : `${given}/`, document.baseURI).href;
    const tokenUrl = this.getAttribute("token-url");
    const get = this.#getToken;
    const site =
      get !== null
        ? async () => get()
        : tokenUrl !== null
          ? () => tokenFrom(new URL(tokenUrl, document.baseURI).href)
          : null;
    this.#chat = createChat({
      server,
      siteToken: site,
      onChange: () => this.#paint(),
      onEvent: (event) => this.#happened(event),
      onOther: () => queueMicrotask(() => this.#beginAnew()),
    });
    this.#unread = 0;
    this.#showAnew();
    // Nobody becomes a visitor before they want to talk.
    if (this.isOpen || this.#chat.isKnown) this.#chat.start();
  }

  #showAnew(): void {
    const chat = this.#chat;
    if (chat === null) return;
    const wanted = this.closest("[lang]")?.getAttribute("lang");
    const language = languageOf([...(wanted ? [wanted] : []), ...navigator.languages]);
    const strings = stringsOf(language, this.#strings);
    const direction = this.getAttribute("dir");
    const view = createView({
      strings,
      language,
      direction: direction === "rtl" || direction === "ltr" ? direction : directionOf(language),
      isInline: this.#isInline,
      heading: this.getAttribute("heading") ?? strings.title,
      greeting: this.getAttribute("greeting") ?? "",
      hasLinks: this.getAttribute("links") !== "off",
      onToggle: (open) => (open ? this.open() : this.close()),
      onSend: (text) => this.send(text),
      onType: (isEmpty) => chat.typing(!isEmpty),
      onRetry: (id) => chat.retry(id),
      onDiscard: (id) => chat.discard(id),
      onOlder: () => chat.loadOlder(),
    });
    view.text = this.#view?.text ?? "";
    this.#view = view;
    this.#root.replaceChildren(view.element);
    this.#paintNow();
  }

  #opened(): void {
    if (this.isOpen) {
      this.#unread = 0;
      this.#chat?.start();
    }
    this.#paintNow();
    this.dispatchEvent(new CustomEvent("lull-toggle", { detail: { open: this.isOpen } }));
  }

  #happened(event: ChatEvent): void {
    if (event.type === "part" && !this.isOpen) this.#unread += 1;
    this.dispatchEvent(new CustomEvent("lull-event", { detail: event }));
  }

  /** Many changes at once are shown once. */
  #paint(): void {
    if (this.#painting) return;
    this.#painting = true;
    queueMicrotask(() => {
      this.#painting = false;
      this.#paintNow();
    });
  }

  #paintNow(): void {
    const [chat, view] = [this.#chat, this.#view];
    if (chat === null || view === null) return;
    this.#watch(chat);
    const { talk, line } = chat;
    view.paint({ talk, line, isAway: this.#isAway, isOpen: this.isOpen, unread: this.#unread });
  }

  #watch(chat: Chat): void {
    if (chat.line.is !== "broken") {
      if (chat.line.is === "live") this.#isAway = false;
      clearTimeout(this.#away);
      this.#away = undefined;
      return;
    }
    if (navigator.onLine === false) this.#isAway = true;
    else
      this.#away ??= setTimeout(() => {
        this.#isAway = chat.line.is === "broken";
        this.#paintNow();
      }, awayMs);
  }
}
