// A platform whose messages can be edited and deleted, as its user sees them.
import type { Channel, Part, Receipt } from "../../src/index.ts";

export interface Bubble {
  id: string;
  key: string;
  text: string;
  /** Still provisional. */
  draft: boolean;
}

export interface Screen {
  /** What stands there now, oldest first. */
  bubbles: Bubble[];
  /** What happened: `1500 shows a "half"`, `2000 takes back a`. */
  steps: string[];
  channel: Channel;
}

export interface ScreenOptions {
  now: () => number;
  /** How a part is received; undefined: shown. */
  script?: (what: "draft" | "edit" | "delete" | "send", nth: number) => Receipt | Error | undefined;
  /** The platform can look for the key of a message. */
  searchable?: boolean;
  /** How long each call takes, after what it does is done. */
  takes?: () => Promise<void>;
}

const words = (part: Part) => (part.type === "text" ? part.text : `<${part.type}>`);

export function screen({ now, script, searchable = false, takes }: ScreenOptions): Screen {
  const bubbles: Bubble[] = [];
  const steps: string[] = [];
  let [ids, nth] = [0, 0];
  const step = (what: string) => void steps.push(`${now()} ${what}`);
  const ask = (what: "draft" | "edit" | "delete" | "send") => {
    nth += 1;
    const answer = script?.(what, nth);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const find = (key: string, id?: string) =>
    bubbles.find((bubble) => (id === undefined ? searchable && bubble.key === key : bubble.id === id));
  const post = (key: string, text: string, draft: boolean): Bubble => {
    const bubble = { id: `b${++ids}`, key, text, draft };
    bubbles.push(bubble);
    step(`shows ${bubble.id} "${text}"`);
    return bubble;
  };
  const channel: Channel = {
    name: "screen",
    idempotent: false,
    async draft(part, { key, id, inDoubt }) {
      const shown = id !== undefined || inDoubt ? find(key, id) : undefined;
      if (part === null) {
        ask("delete");
        if (shown !== undefined) {
          bubbles.splice(bubbles.indexOf(shown), 1);
          step(`takes back ${shown.id}`);
        }
        return;
      }
      ask(shown === undefined ? "draft" : "edit");
      const bubble = shown ?? post(key, words(part), true);
      if (shown !== undefined && shown.text !== words(part)) step(`edits ${shown.id} "${words(part)}"`);
      bubble.text = words(part);
      await takes?.();
      return { id: bubble.id };
    },
    async deliver(part, { idempotencyKey, draft }) {
      const refusal = ask("send");
      if (refusal !== undefined) return refusal;
      const shown = draft === undefined ? undefined : find(draft.key, draft.id);
      if (shown === undefined) post(idempotencyKey, words(part), false);
      else {
        Object.assign(shown, { text: words(part), draft: false });
        step(`finishes ${shown.id} "${words(part)}"`);
      }
      return { status: "sent" };
    },
  };
  return { bubbles, steps, channel };
}
