/**
 * The web chat: registers the element `lull-chat`.
 *
 * @module
 */
if (!customElements.get("lull-chat")) customElements.define("lull-chat", class extends HTMLElement {});
