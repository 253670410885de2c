/**
 * A key for the server, in exchange for a cookie.
 *
 * @module
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../shared/api.ts";
import { signIn } from "./server.ts";
import { signedIn } from "./state.ts";

export function SignIn() {
  const [error, setError] = useState<string | null>(null);
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
      signedIn(await signIn(key));
    } catch (thrown) {
      setError(
        thrown instanceof ApiError && thrown.status === 401
          ? "No key of this server looks like that."
          : String((thrown as Error).message),
      );
      setBusy(false);
      field.current?.select();
    }
  };

  return (
    <form class="signin card" onSubmit={(event) => void submit(event)}>
      <h2>This server wants a key</h2>
      <p class="soft">
        Keys are set in LULL_API_KEYS as name:role:secret; give the secret of one with the roles send and read. It is
        exchanged for a cookie that no script can read.
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
          aria-describedby={error === null ? undefined : "signin-error"}
        />
      </label>
      {error !== null && (
        <p id="signin-error" class="notice bad" role="alert">
          {error}
        </p>
      )}
      <button type="submit" class="button primary" disabled={busy}>
        Sign in
      </button>
    </form>
  );
}
