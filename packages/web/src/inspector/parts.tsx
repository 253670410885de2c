/**
 * Small pieces that several of the inspector's pages show.
 *
 * @module
 */
import type { ApiError } from "../shared/api.ts";
import type { StreamState } from "../shared/stream.ts";
import { adviceOn } from "./server.ts";

export const states = ["waiting", "answering", "delivering", "parked", "handed-off", "overdue", "resting"] as const;
export type State = (typeof states)[number];

const meanings: Record<string, string> = {
  waiting: "Messages are in, and the user is heard out",
  answering: "A process holds the lease, and the model runs",
  delivering: "A reply is on its way",
  parked: "Given up after too many failures; an operator can retry",
  "handed-off": "A human answers",
  overdue: "Something should have happened by now",
  resting: "Everything is answered",
};

export function StateChip({ state }: { state: string }) {
  return (
    <span class={`chip state-${state}`} title={meanings[state] ?? ""}>
      <span class="dot" aria-hidden="true" />
      {state.replace("-", " ")}
    </span>
  );
}

export function ErrorNotice({ error, onRetry }: { error: ApiError; onRetry?: () => void }) {
  return (
    <div class="notice bad" role="alert">
      <span>
        <strong>{error.message}</strong> {adviceOn(error)}
      </span>
      {onRetry && (
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Is what is shown live? Silent while all is well. */
export function StreamNotice({ state }: { state: StreamState }) {
  if (state.is === "live") return <span class="live-mark">live</span>;
  if (state.is === "connecting") return <span class="live-mark off">connecting</span>;
  if (state.is === "refused") return <span class="live-mark bad">not live: {state.error.message}</span>;
  return (
    <span class="live-mark bad" role="status">
      not live: {state.error.message} Trying again at {new Date(state.retryAt).toISOString().slice(11, 19)}.
    </span>
  );
}

/** Saves a text as a file. */
export function download(name: string, type: string, content: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A file's name from a conversation's. */
export function fileName(id: string, ending: string): string {
  return `${id.replace(/[^\w.-]+/g, "-").slice(0, 60)}${ending}`;
}
