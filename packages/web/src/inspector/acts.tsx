/**
 * What an operator does with a conversation, each with a word on what it means, and asked for once more before it is done.
 *
 * @module
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, pathOf } from "../shared/api.ts";
import type { Conversation } from "../shared/shapes.ts";
import { ErrorNotice } from "./parts.tsx";
import { api, lostSession } from "./server.ts";

interface Act {
  name: string;
  path: string;
  /** What it does, before it is done. */
  meaning: string;
  confirm: string;
  done: string;
  danger?: true;
  /** Why it cannot be done now, if so. */
  idle?: (conversation: Conversation) => string | null;
  fields?: () => ComponentChildren;
  body?: (fields: FormData) => Record<string, unknown>;
}

const backlog = (legend: string) => (
  <label class="field">
    {legend}
    <select name="backlog">
      <option value="answer">is answered by the bot</option>
      <option value="context">is kept as context, not answered</option>
    </select>
  </label>
);

const acts: Act[] = [
  {
    name: "Answer as a human",
    path: "/human-replies",
    meaning:
      "Everything unanswered counts as answered by you. A running attempt ends. The text goes to the log; lull does not send it: your own channel does.",
    confirm: "Record the answer",
    done: "Your answer is recorded.",
    fields: () => (
      <label class="field">
        What you answered
        <textarea name="text" rows={4} required maxLength={20_000} />
      </label>
    ),
    body: (fields) => ({ text: String(fields.get("text") ?? "") }),
  },
  {
    name: "Hand off",
    path: "/handoff",
    meaning:
      "A human answers from now on: the bot is silent, a running attempt ends, and what is not sent yet is cancelled.",
    confirm: "Hand off",
    done: "Handed off.",
    fields: () => (
      <>
        <label class="field">
          For
          <select name="minutes">
            <option value="15">15 minutes</option>
            <option value="60" selected>
              1 hour
            </option>
            <option value="480">8 hours</option>
            <option value="1440">1 day</option>
          </select>
        </label>
        {backlog("When it ends, what waited")}
      </>
    ),
    body: (fields) => ({ forMs: Number(fields.get("minutes")) * 60_000, backlog: fields.get("backlog") }),
  },
  {
    name: "Resume",
    path: "/resume",
    meaning: "The hand-off ends now, and the bot answers again.",
    confirm: "Resume",
    done: "The bot answers again.",
    idle: ({ handoff }) => (handoff === null ? "Nobody has taken over." : null),
    fields: () => backlog("What waited"),
    body: (fields) => ({ backlog: fields.get("backlog") }),
  },
  {
    name: "Retry",
    path: "/retry",
    meaning: "Brings back what was given up, or what last ended in silence or as context, to be answered now.",
    confirm: "Retry",
    done: "Brought back, if there was anything to bring back.",
    idle: ({ parked, record }) => (parked === null && record.last === null ? "Nothing was given up." : null),
  },
  {
    name: "Flush",
    path: "/flush",
    meaning: "Waits no longer: what is there is answered at once, without hearing the user out.",
    confirm: "Answer now",
    done: "It is answered without waiting any longer.",
    idle: ({ record }) => (record.window === null ? "Nothing waits." : null),
  },
  {
    name: "Reset",
    path: "/reset",
    danger: true,
    meaning:
      "Drops everything unanswered: nobody will answer it. A running attempt ends, what is not sent yet is cancelled, and later prompts begin after this point. The log keeps all of it.",
    confirm: "Drop it and reset",
    done: "The conversation was reset.",
  },
];

export interface ActsProps {
  conversation: Conversation;
  onDone: (words: string) => void;
}

export function Acts({ conversation, onDone }: ActsProps) {
  const [open, setOpen] = useState<Act | null>(null);
  return (
    <>
      <fieldset class="acts">
        <legend class="hidden-text">Act on this conversation</legend>
        {acts.map((act) => {
          const why = act.idle?.(conversation) ?? null;
          return (
            <button
              key={act.name}
              type="button"
              class={`button ${act.danger ? "danger" : ""}`}
              disabled={why !== null}
              title={why ?? act.meaning}
              onClick={() => setOpen(act)}
            >
              {act.name}
            </button>
          );
        })}
      </fieldset>
      {open && (
        <Confirm
          act={open}
          id={conversation.id}
          onEnd={(words) => {
            setOpen(null);
            if (words !== null) onDone(words);
          }}
        />
      )}
    </>
  );
}

function Confirm({ act, id, onEnd }: { act: Act; id: string; onEnd: (words: string | null) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  /** The same for every try, so that an answer that was lost on its way does not make two acts of one. */
  const call = useRef(`inspector-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`);
  useEffect(() => dialog.current?.showModal(), []);

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setError(null);
    try {
      const body = act.body?.(fields) ?? {};
      await api.post(pathOf(id, act.path), act.path === "/flush" ? body : { id: call.current, ...body });
      onEnd(act.done);
    } catch (thrown) {
      if (lostSession(thrown)) return;
      if (!(thrown instanceof ApiError)) throw thrown;
      setError(thrown);
      setBusy(false);
    }
  };

  return (
    <dialog ref={dialog} aria-labelledby="act-name" onClose={() => onEnd(null)}>
      <form onSubmit={submit} class="act">
        <h2 id="act-name">{act.name}</h2>
        <p class="mono act-id">{id}</p>
        <p>{act.meaning}</p>
        {act.fields?.()}
        {error && <ErrorNotice error={error} />}
        <p class="soft">The log says who did it, and when.</p>
        <div class="act-end">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class={`button ${act.danger ? "danger" : "primary"}`} disabled={busy}>
            {act.confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}
