/**
 * Where the inspector is: everything is behind the `#`, so that it works wherever it is served.
 *
 * @module
 */
import { signal } from "@preact/signals";

export type Route =
  | { page: "conversations"; prefix: string; author: string; state: string }
  /** `entry`: the log entry that is pointed at. */
  | { page: "conversation"; id: string; entry: number | null }
  | { page: "health" };

export function routeOf(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#/, "").split("?", 2);
  const query = new URLSearchParams(search);
  if (path === "/health") return { page: "health" };
  if (path.startsWith("/c/")) {
    const entry = Number(query.get("entry") ?? Number.NaN);
    const id = decoded(path.slice(3));
    if (id !== "") return { page: "conversation", id, entry: Number.isSafeInteger(entry) && entry > 0 ? entry : null };
  }
  const text = (name: string) => query.get(name) ?? "";
  return { page: "conversations", prefix: text("prefix"), author: text("author"), state: text("state") };
}

export function hashOf(route: Route): string {
  if (route.page === "health") return "#/health";
  if (route.page === "conversation")
    return `#/c/${encodeURIComponent(route.id)}${route.entry === null ? "" : `?entry=${route.entry}`}`;
  const query = new URLSearchParams();
  for (const name of ["prefix", "author", "state"] as const) if (route[name] !== "") query.set(name, route[name]);
  return query.size === 0 ? "#/" : `#/?${query}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = signal<Route>(routeOf(location.hash));
window.addEventListener("hashchange", () => {
  route.value = routeOf(location.hash);
});

/** Goes there. `replace`: without a step in the browser's history. */
export function go(to: Route, { replace = false } = {}): void {
  const hash = hashOf(to);
  if (hash === location.hash) return;
  if (replace) history.replaceState(null, "", hash);
  else location.hash = hash;
  route.value = to;
}
