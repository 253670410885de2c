/**
 * The one input, the script that types by itself, and the two times one may choose.
 *
 * @module
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { play } from "./script.ts";
import { chooseQuiet, mayOperate, maySend, quietMs, startOver, thinkMs, typed, write } from "./state.ts";
import { seconds } from "./words.ts";

export function Composer() {
  const [text, setText] = useState("");
  const [playing, setPlaying] = useState<AbortController | null>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus({ preventScroll: true });
    return () => playing?.abort();
  }, []);

  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() === "") return;
    write(text);
    setText("");
  };
  const input = (event: Event) => {
    setText((event.currentTarget as HTMLInputElement).value);
    typed();
  };
  const toggle = async () => {
    if (playing !== null) {
      playing.abort();
      return;
    }
    const running = new AbortController();
    setPlaying(running);
    const gently = matchMedia("(prefers-reduced-motion: reduce)").matches;
    await play({ show: setText, typed, send: write }, running.signal, gently);
    setPlaying(null);
    field.current?.focus({ preventScroll: true });
  };

  return (
    <div class="composer card">
      <form onSubmit={submit}>
        <label class="hidden-text" for="message">
          Message to both bots
        </label>
        <input
          id="message"
          class="message"
          ref={field}
          value={text}
          onInput={input}
          readOnly={playing !== null}
          disabled={!maySend.value}
          placeholder="Write to both"
          autocomplete="off"
          maxLength={10_000}
        />
        <button type="submit" class="button primary" disabled={!maySend.value}>
          Send
        </button>
      </form>
      <div class="tools">
        <button type="button" class="button script" onClick={() => void toggle()} disabled={!maySend.value}>
          {playing === null ? "Type three quick messages" : "Stop typing"}
        </button>
        <button type="button" class="button over" onClick={startOver} disabled={playing !== null}>
          Start over
        </button>
        <Choice
          name="Quiet window"
          of={[3_000, 6_000, 10_000]}
          value={quietMs.value}
          disabled={!mayOperate.value}
          why="needs a key with the role operate"
          onChoose={(ms) => void chooseQuiet(ms)}
        />
        <Choice
          name="Model thinks for"
          of={[1_000, 2_000, 5_000]}
          value={thinkMs.value}
          onChoose={(ms) => {
            thinkMs.value = ms;
          }}
        />
      </div>
    </div>
  );
}

interface ChoiceProps {
  name: string;
  /** Milliseconds. */
  of: readonly number[];
  value: number | null;
  onChoose: (ms: number) => void;
  disabled?: boolean;
  /** Why it is disabled. */
  why?: string;
}

function Choice({ name, of, value, onChoose, disabled = false, why }: ChoiceProps) {
  const all = value === null || of.includes(value) ? of : [...of, value].sort((a, b) => a - b);
  return (
    <fieldset class="choice" disabled={disabled}>
      <legend>
        {name}
        {disabled && why !== undefined && <span> ({why})</span>}
      </legend>
      <div class="options">
        {all.map((ms) => (
          <label key={ms}>
            <input class="option" type="radio" name={name} checked={ms === value} onChange={() => onChoose(ms)} />
            <span class="option-face">{seconds(ms)}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
