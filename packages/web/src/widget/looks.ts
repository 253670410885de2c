/**
 * The widget's style, as a sheet that is made by script: pages whose policy forbids inline styles allow it.
 *
 * @module
 */

const css = `
:host {
  color-scheme: light dark;
  --_accent: var(--lull-accent, light-dark(#2f5d50, #37705f));
  --_on-accent: var(--lull-on-accent, #ffffff);
  --_card: var(--lull-background, light-dark(#fffefb, #1f211e));
  --_ink: var(--lull-ink, light-dark(#23211d, #eceae4));
  --_soft: var(--lull-soft, light-dark(#666158, #a5a197));
  --_line: var(--lull-line, light-dark(#8f897d, #76786f));
  --_bot: var(--lull-bot-background, light-dark(#ece8df, #2b2e29));
  --_bot-ink: var(--lull-bot-ink, var(--_ink));
  --_bad: var(--lull-bad, light-dark(#a5282c, #f08c86));
  --_focus: var(--lull-focus, light-dark(#9c4d22, #e39a6b));
  --_radius: var(--lull-radius, 14px);
  font: 16px/1.5 var(--lull-font, system-ui, sans-serif);
  color: var(--_ink);
  display: block;
}
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
:host([hidden]) { display: none; }
*, *::before, *::after { box-sizing: border-box; }
[hidden] { display: none !important; }
button { font: inherit; color: inherit; cursor: pointer; border: 0; background: none; padding: 0; }
:focus-visible { outline: 2px solid var(--_focus); outline-offset: 2px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
svg { width: 24px; height: 24px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; display: block; }

:host(:not([layout="inline"])) { position: fixed; inset-block-end: var(--lull-bottom, 20px); inset-inline-end: var(--lull-side, 20px); z-index: var(--lull-z-index, 2147483000); }
.launcher { width: 56px; height: 56px; border-radius: 50%; background: var(--_accent); color: var(--_on-accent); display: grid; place-items: center; box-shadow: 0 2px 12px rgb(0 0 0 / 0.25); position: relative; margin-inline-start: auto; }
.unread { position: absolute; inset-block-start: -4px; inset-inline-end: -4px; min-width: 22px; height: 22px; padding-inline: 6px; border-radius: 11px; background: var(--_bad); color: light-dark(#ffffff, #171816); font-size: 13px; line-height: 22px; text-align: center; font-weight: 600; }

.panel { display: flex; flex-direction: column; background: var(--_card); border: 1px solid var(--_line); border-radius: var(--_radius); overflow: hidden; }
:host(:not([layout="inline"])) .panel { width: min(var(--lull-width, 380px), calc(100vw - 24px)); height: min(var(--lull-height, 600px), calc(100dvh - 40px)); box-shadow: 0 8px 32px rgb(0 0 0 / 0.25); }
:host([layout="inline"]) .panel { height: var(--lull-height, 100%); min-height: 320px; }
@media (max-width: 480px) {
  :host(:not([layout="inline"])[open]) { inset: 0; }
  :host(:not([layout="inline"])) .panel { width: 100%; height: 100dvh; border: 0; border-radius: 0; }
}
.head { display: flex; align-items: center; gap: 12px; padding: 12px 16px; border-block-end: 1px solid var(--_line); }
.title { margin: 0; font-size: 1rem; font-weight: 600; flex: 1; overflow-wrap: anywhere; }
.close { width: 32px; height: 32px; display: grid; place-items: center; border-radius: 8px; }
.close:hover { background: var(--_bot); }

.scroll { flex: 1; overflow-y: auto; overscroll-behavior: contain; padding: 16px; display: flex; flex-direction: column; gap: 8px; }
.log { display: flex; flex-direction: column; gap: 8px; }
.older { align-self: center; text-decoration: underline; font-size: 0.875rem; color: var(--_soft); padding: 4px 8px; min-height: 24px; }
.message { display: flex; flex-direction: column; align-items: flex-start; max-width: 88%; align-self: flex-start; }
.message.own { align-self: flex-end; align-items: flex-end; }
.bubble { padding: 8px 12px; border-radius: var(--_radius); background: var(--_bot); color: var(--_bot-ink); white-space: pre-wrap; overflow-wrap: anywhere; max-width: 100%; text-align: start; }
.own .bubble { background: var(--_accent); color: var(--_on-accent); }
.bubble a { color: inherit; text-decoration: underline; }
.meta { font-size: 0.8125rem; color: var(--_soft); padding-inline: 4px; display: flex; gap: 8px; flex-wrap: wrap; }
.meta.bad { color: var(--_bad); }
.meta button { text-decoration: underline; min-height: 24px; }
.draft .bubble { background: none; border: 1px dashed var(--_line); }
.typing { display: flex; gap: 4px; align-items: center; height: 24px; }
.typing i { width: 7px; height: 7px; border-radius: 50%; background: var(--_soft); }

.status { padding: 4px 16px; font-size: 0.875rem; color: var(--_soft); min-height: 30px; }
.status.bad { color: var(--_bad); }
.form { display: flex; gap: 8px; align-items: flex-end; padding: 12px 16px; border-block-start: 1px solid var(--_line); }
textarea { flex: 1; font: inherit; color: inherit; background: var(--_card); border: 1px solid var(--_line); border-radius: 10px; padding: 8px 12px; min-height: 42px; max-height: 160px; resize: none; field-sizing: content; min-width: 0; }
textarea::placeholder { color: var(--_soft); opacity: 1; }
.send { width: 42px; height: 42px; border-radius: 10px; background: var(--_accent); color: var(--_on-accent); display: grid; place-items: center; flex: none; }
:host(:dir(rtl)) .send svg { transform: scaleX(-1); }
[dir="rtl"] .send svg { transform: scaleX(-1); }

@media (prefers-reduced-motion: no-preference) {
  .panel { animation: rise 0.16s ease-out; }
  .message.new { animation: rise 0.16s ease-out; }
  .draft.back { animation: leave 0.3s ease-in forwards; }
  .typing i { animation: beat 1.2s infinite ease-in-out; }
  .typing i:nth-child(2) { animation-delay: 0.15s; }
  .typing i:nth-child(3) { animation-delay: 0.3s; }
}
@keyframes rise { from { opacity: 0; transform: translateY(8px); } }
@keyframes leave { to { opacity: 0; transform: scale(0.96); } }
@keyframes beat { 0%, 60%, 100% { opacity: 0.35; } 30% { opacity: 1; } }
@media (forced-colors: active) { .bubble, .launcher, .send { border: 1px solid; } }
`;

let made: CSSStyleSheet | null = null;

/** One sheet for all elements of a page. */
export function sheet(): CSSStyleSheet {
  if (made === null) {
    made = new CSSStyleSheet();
    made.replaceSync(css);
  }
  return made;
}
