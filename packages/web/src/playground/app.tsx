/**
 * The playground: one input, two bots.
 *
 * @module
 */
import { useEffect } from "preact/hooks";
import icon from "../shared/icon.svg";
import { Composer } from "./composer.tsx";
import { NaivePane, Pane, What } from "./pane.tsx";
import { SignIn } from "./signin.tsx";
import {
  conversation,
  inspectorAddress,
  leave,
  left,
  mayRead,
  maySend,
  right,
  session,
  start,
  trouble,
} from "./state.ts";

export function App() {
  useEffect(() => void start(), []);
  const who = session.value;
  return (
    <>
      <header class="top">
        <span class="brand">
          <img src={icon} width="26" height="26" alt="" />
          lull
        </span>
        <nav aria-label="Pages">
          <a href={`#${encodeURIComponent(conversation.value)}`} aria-current="page">
            Playground
          </a>
          <a href={inspectorAddress("").replace(/#.*$/, "")}>Inspector</a>
        </nav>
        {typeof who === "object" && who.name !== null && (
          <span class="who">
            <span class="soft">{who.name}</span>
            <button type="button" class="button" onClick={() => void leave()}>
              Sign out
            </button>
          </span>
        )}
      </header>
      <main id="main" tabIndex={-1}>
        <h1>People type one thought in three messages.</h1>
        <p class="intro">
          On the left a bot answers each message as soon as it comes; on the right, lull hears you out and answers{" "}
          <em>once</em>, with everything you said. Write a few short messages in a row, or let the script do it.
        </p>
        {who === "none" ? <SignIn /> : typeof who === "object" ? <Stage /> : <Waiting />}
      </main>
    </>
  );
}

function Waiting() {
  if (trouble.value === null) return <p class="soft">Asking the server…</p>;
  return (
    <div class="notice bad" role="alert">
      <span>{trouble.value}</span>
      <button type="button" class="button" onClick={() => void start()}>
        Try again
      </button>
    </div>
  );
}

/** What a key must be good for. */
function Lacking() {
  const lacks = [...(maySend.value ? [] : ["send"]), ...(mayRead.value ? [] : ["read"])];
  const who = session.value;
  if (lacks.length === 0 || typeof who !== "object") return null;
  return (
    <p class="notice warm" role="alert">
      The key {who.name} is not good for the playground: it lacks the role {lacks.join(" and the role ")}. Sign out, and
      use another one.
    </p>
  );
}

function Stage() {
  return (
    <>
      <Lacking />
      {trouble.value !== null && (
        <p class="notice bad" role="alert">
          {trouble.value}
        </p>
      )}
      <div class="stage">
        <NaivePane />
        <Pane />
        <Composer />
        <What of="Without lull" lines={left.value.lines} empty="Nothing yet." />
        <What of="With lull" lines={right.value.lines} empty="Nothing yet: write something.">
          <a class="out" href={inspectorAddress(conversation.value)}>
            See it in the inspector
          </a>
        </What>
      </div>
    </>
  );
}
