import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const src = join(here, "src");

/** What lull-server serves and publishes; nothing in it is written by hand. */
export const outDir = join(here, "../lull-server/web");

/** @type {import("vite").InlineConfig} */
const common = {
  configFile: false,
  root: src,
  // Every address is relative, so that the pages work below any path of a reverse proxy.
  base: "./",
  publicDir: false,
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
};

/**
 * `inspector/index.html` and `playground/index.html`, with hashed files in `assets/`.
 *
 * @type {import("vite").InlineConfig}
 */
export const pages = {
  ...common,
  build: {
    outDir,
    write: false,
    target: "es2022",
    // The pages' policy allows no inline script and no fonts or pictures but the server's own.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { inspector: join(src, "inspector/index.html"), playground: join(src, "playground/index.html") },
    },
  },
};

/**
 * `widget/lull-chat.js`, a classic script, and `widget/lull-chat.mjs`: one file each, since other people's pages load them.
 *
 * @type {import("vite").InlineConfig}
 */
export const widget = {
  ...common,
  build: {
    outDir: join(outDir, "widget"),
    write: false,
    target: "es2022",
    lib: {
      entry: join(src, "widget/index.ts"),
      name: "LullChat",
      formats: ["iife", "es"],
      fileName: (format) => (format === "es" ? "lull-chat.mjs" : "lull-chat.js"),
    },
  },
};

// For `npx vite packages/web`, which reads this file by its name.
export default pages;
