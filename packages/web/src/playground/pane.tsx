/**
 * The two chats, and what happens beneath them in plain words.
 *
 * @module
 */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { demoMark } from "./naive.ts";
import { type Bubble, clock, type Line, type Phase } from "./right.ts";
import { left, right, skewMs, stream } from "./state.ts";
import { counted } from "./words.ts";

export function NaivePane() {
  const { bubbles, answers, heard, thinking } = left.value;
  return (
    <section class="pane naive card" aria-labelledby="naive-name">
      <Head
        id="naive-name"
        name="Without lull"
        does="answers every message by itself"
        answers={answers}
        heard={heard}
      />
      <Chat name="Chat without lull" bubbles={bubbles} />
      <p class="phase" role="status">
        {thinking > 0 && (
          <>
            <Dots /> thinking about {counted(thinking, "answer")}
          </>
        )}
      </p>
    </section>
  );
}

export function Pane() {
  const { bubbles, answers, heard, phase } = right.value;
  const state = stream.value;
  return (
    <section class="pane lull card" aria-labelledby="lull-name">
      <Head id="lull-name" name="With lull" does="hears you out, answers once" answers={answers} heard={heard} />
      <Chat name="Chat with lull" bubbles={bubbles} />
      {state.is === "waiting" ? (
        <p class="phase bad" role="status">
          {state.error.message} Trying again; nothing is lost.
        </p>
      ) : (
        <PhaseLine phase={phase} />
      )}
    </section>
  );
}

function Head(props: { id: string; name: string; does: string; answers: number; heard: number }) {
  return (
    <div class="head">
      <div>
        <h2 id={props.id}>{props.name}</h2>
        <p class="soft">{props.does}</p>
      </div>
      {props.heard > 0 && (
        <p class="tally">
          <strong>{counted(props.answers, "answer")}</strong> to {counted(props.heard, "message")}
        </p>
      )}
    </div>
  );
}

/** Follows its end, unless one has scrolled away from it. */
function Scrolled(props: { class: string; name: string; log?: boolean; count: number; children: ComponentChildren }) {
  const box = useRef<HTMLElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    if (box.current !== null && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [props.count]);
  const onScroll = () => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    atEnd.current = scrollHeight - scrollTop - clientHeight < 40;
  };
  return (
    <section
      ref={box}
      class={props.class}
      role={props.log ? "log" : undefined}
      aria-label={props.name}
      // What scrolls must be within reach of a keyboard.
      tabIndex={0}
      onScroll={onScroll}
    >
      {props.children}
    </section>
  );
}

function Chat({ name, bubbles }: { name: string; bubbles: readonly Bubble[] }) {
  return (
    <Scrolled class="chat" name={name} log count={bubbles.length}>
      {bubbles.length === 0 ? (
        <p class="soft nothing">No messages yet.</p>
      ) : (
        <ol>
          {bubbles.map((bubble) => (
            <Said key={bubble.id} {...bubble} />
          ))}
        </ol>
      )}
    </Scrolled>
  );
}

const speakers = { you: "You: ", bot: "Bot: ", human: "Human: ", note: "" };

function Said({ by, text, state }: Bubble) {
  const isDemo = by === "bot" && text.startsWith(demoMark);
  return (
    <li class={`said ${by} ${state}`}>
      <span class="hidden-text">{speakers[by]}</span>
      <span class="text">{isDemo ? text.slice(demoMark.length) : text}</span>
      {isDemo && <small title="no model is connected">demo</small>}
      {state === "failed" && <small>not delivered</small>}
    </li>
  );
}

function Dots() {
  return (
    <span class="dots" aria-hidden="true">
      <i />
      <i />
      <i />
    </span>
  );
}

function PhaseLine({ phase }: { phase: Phase }) {
  const until = phase.quiet?.until ?? 0;
  return (
    <p class="phase" role="status">
      {phase.is === "thinking" && <Dots />} {phase.words}
      {phase.quiet !== null && <Quiet from={phase.quiet.from} until={until} />}
    </p>
  );
}

/** How much of the quiet is left: as seconds, and as a line that gets shorter. */
function Quiet({ from, until }: { from: number; until: number }) {
  const bar = useRef<HTMLElement>(null);
  const rest = useRef<HTMLElement>(null);
  useEffect(() => {
    const show = () => {
      const leftMs = Math.max(0, until - (Date.now() - skewMs()));
      if (leftMs === 0) clearInterval(timer);
      if (rest.current !== null)
        rest.current.textContent = leftMs === 0 ? "" : `${(leftMs / 1_000).toFixed(1)} s of quiet to go`;
      if (bar.current !== null)
        bar.current.style.transform = `scaleX(${Math.min(1, leftMs / Math.max(1, until - from))})`;
    };
    const timer = setInterval(show, 100);
    show();
    return () => clearInterval(timer);
  }, [from, until]);
  return (
    <span class="quiet" aria-hidden="true">
      <span ref={rest} />
      <i ref={bar} />
    </span>
  );
}

export function What(props: { of: string; lines: readonly Line[]; empty: string; children?: ComponentChildren }) {
  return (
    <div class={`what card ${props.children ? "lull" : "naive"}`}>
      <div class="head">
        <h2>What happens {props.of.toLowerCase()}</h2>
        {props.children}
      </div>
      <Scrolled class="lines" name={`What happens ${props.of.toLowerCase()}`} count={props.lines.length}>
        {props.lines.length === 0 ? (
          <p class="soft nothing">{props.empty}</p>
        ) : (
          <ol>
            {props.lines.map((line) => (
              <li key={line.key} class={line.tone}>
                <time dateTime={new Date(line.at).toISOString()}>{clock(line.at)}</time>
                <span class="line-text">{line.text}</span>
              </li>
            ))}
          </ol>
        )}
      </Scrolled>
    </div>
  );
}
