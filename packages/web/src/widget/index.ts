/**
 * The web chat: registers the element `lull-chat`.
 *
 * @module
 */
import { LullChat } from "./element.ts";

export { LullChat };

if (globalThis.customElements !== undefined && !customElements.get("lull-chat")) {
  // `…/widget/lull-chat.js` is two steps below the server's own address.
  const script = document.currentScript instanceof HTMLScriptElement ? document.currentScript.src : "";
  if (script !== "") LullChat.server = new URL("../", script).href;
  customElements.define("lull-chat", LullChat);
}
