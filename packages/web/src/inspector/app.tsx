/**
 * The inspector's frame: who is signed in, where one is, and what is shown there.
 *
 * @module
 */
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../shared/api.ts";
import { ConversationPage } from "./conversation.tsx";
import { ConversationsPage } from "./conversations.tsx";
import { ErrorNotice } from "./parts.tsx";
import { hashOf, route } from "./route.ts";
import { askSession, hidesTexts, session, sessionError, signIn, signOut } from "./server.ts";

export function App() {
  useEffect(() => void askSession(), []);
  const who = session.value;
  if (who === "unknown")
    return (
      <main class="page">
        {sessionError.value === null ? (
          <p class="soft">Asking the server…</p>
        ) : (
          <ErrorNotice error={sessionError.value} onRetry={() => void askSession()} />
        )}
      </main>
    );
  if (who === "none") return <SignIn />;
  return (
    <>
      <button type="button" class="skip button" onClick={() => document.getElementById("main")?.focus()}>
        Skip to content
      </button>
      <Header name={who.name} bot={who.bot} />
      <main class="page" id="main" tabIndex={-1}>
        {hidesTexts.value && (
          <p class="notice warm">
            This key may not see what people write: texts, names and addresses are shown as their lengths.
          </p>
        )}
        <Page />
      </main>
    </>
  );
}

/** Its charts are loaded when they are looked at. */
function Later() {
  const [Health, setHealth] = useState<ComponentType | null>(null);
  useEffect(() => void import("./health.tsx").then((module) => setHealth(() => module.HealthPage)), []);
  return Health === null ? <p class="soft">Loading…</p> : <Health />;
}

function Page() {
  const at = route.value;
  if (at.page === "health") return <Later />;
  if (at.page === "conversation") return <ConversationPage key={at.id} id={at.id} entry={at.entry} />;
  return <ConversationsPage prefix={at.prefix} author={at.author} state={at.state} />;
}

function Header({ name, bot }: { name: string | null; bot: string | null }) {
  const { page } = route.value;
  const link = (to: "conversations" | "health", words: string) => (
    <a
      href={hashOf(to === "health" ? { page: to } : { page: to, prefix: "", author: "", state: "" })}
      aria-current={page === to ? "page" : undefined}
    >
      {words}
    </a>
  );
  return (
    <header class="top">
      <span class="brand">
        <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
          <rect width="32" height="32" rx="8" fill="#2f5d50" />
          <path d="M7 11h6M7 16h10M7 21h4" stroke="#cfe3da" stroke-width="2.4" stroke-linecap="round" />
          <circle cx="23" cy="21" r="4" fill="#f1b48a" />
        </svg>
        lull
      </span>
      <nav aria-label="Inspector">
        {link("conversations", "Conversations")}
        {link("health", "Health")}
      </nav>
      <span class="who">
        {bot !== null && <span class="soft">bot {bot}</span>}
        {name === null ? (
          <span class="soft">no keys set: local access</span>
        ) : (
          <>
            <span class="soft">{name}</span>
            <button type="button" class="button" onClick={() => void signOut()}>
              Sign out
            </button>
          </>
        )}
      </span>
    </header>
  );
}

function SignIn() {
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  const submit = async (event: Event) => {
    event.preventDefault();
    const key = field.current?.value.trim() ?? "";
    if (key === "") return;
    setBusy(true);
    setError(null);
    try {
      await signIn(key);
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      setError(thrown);
      setBusy(false);
      field.current?.select();
    }
  };

  return (
    <main class="signin">
      <form class="card" onSubmit={submit}>
        <h1>lull inspector</h1>
        <p class="soft">
          Sign in with one of the server's keys. It is exchanged for a cookie that no script can read, and is not kept
          in the page.
        </p>
        <label class="field">
          Key
          <input
            ref={field}
            type="password"
            name="key"
            autocomplete="current-password"
            spellcheck={false}
            required
            aria-describedby={error ? "signin-error" : undefined}
          />
        </label>
        {error && (
          <p id="signin-error" class="notice bad" role="alert">
            {error.status === 401
              ? "No key of this server looks like that. Keys are set in LULL_API_KEYS as name:role:secret; give the secret alone."
              : error.message}
          </p>
        )}
        <button type="submit" class="button primary" disabled={busy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
