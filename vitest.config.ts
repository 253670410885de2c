import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// scripts/test.mjs names here the suites this machine cannot run (`--exclude` does not reach into projects).
const without = (process.env.LULL_TEST_WITHOUT ?? "").split(",").filter((glob) => glob !== "");

// Read the sources directly, so that a failure points into them and coverage counts them.
const sources = [
  { find: /^lull$/, replacement: here("packages/lull/src/index.ts") },
  { find: /^lull\/ai$/, replacement: here("packages/lull/src/ai/index.ts") },
  { find: /^lull\/otel$/, replacement: here("packages/lull/src/otel/index.ts") },
  { find: /^lull\/testing$/, replacement: here("packages/lull/src/testing/index.ts") },
  { find: /^lull\/channels$/, replacement: here("packages/lull/src/channels/index.ts") },
  { find: /^lull\/chat-sdk$/, replacement: here("packages/lull/src/chat-sdk/index.ts") },
  { find: /^lull\/postgres$/, replacement: here("packages/lull/src/stores/postgres/index.ts") },
  { find: /^lull\/redis$/, replacement: here("packages/lull/src/stores/redis/index.ts") },
  { find: /^lull\/sqlite$/, replacement: here("packages/lull/src/stores/sqlite/index.ts") },
  { find: /^lull-server\/client$/, replacement: here("packages/lull-server/src/client/index.ts") },
];

/** The AI SDK's second major under the first one's name: `lull/ai` and its tests run on both. It needs Node 22. */
const ai7 = {
  resolve: {
    alias: [
      ...sources,
      { find: /^ai$/, replacement: here("node_modules/ai7/dist/index.js") },
      { find: /^@ai-sdk\/openai-compatible$/, replacement: here("node_modules/openai-compatible7/dist/index.js") },
    ],
  },
  test: {
    name: "ai7",
    include: ["packages/lull/test/ai/**/*.test.ts"],
    exclude: ["**/*.process.test.ts", "**/node_modules/**", ...without],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
};
const runsAi7 = Number.parseInt(process.versions.node, 10) >= 22;

export default defineConfig({
  test: {
    projects: [
      {
        resolve: {
          alias: sources,
        },
        test: {
          name: "unit",
          include: ["packages/*/test/**/*.test.ts", "torture/*.test.mjs"],
          exclude: ["**/*.process.test.ts", "**/*.browser.test.ts", "**/node_modules/**", ...without],
          // Virtual time, real processors: a shared machine may be slow, which is no reason to fail.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      ...(runsAi7 ? [ai7] : []),
      {
        // Starts and kills real processes, so it runs what users get: the built packages, one file at a time.
        test: {
          name: "process",
          include: ["packages/*/test/**/*.process.test.ts"],
          exclude: ["**/node_modules/**", ...without],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        // Real Chromium against real servers: what is built, one file at a time, one browser a file.
        test: {
          name: "browser",
          include: ["packages/web/test/**/*.browser.test.ts"],
          exclude: ["**/node_modules/**", ...without],
          fileParallelism: false,
          sequence: { groupOrder: 2 },
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
    coverage: {
      provider: "v8",
      include: ["packages/*/src/**/*.ts"],
      reporter: ["text", "html", "json-summary"],
      // The pure protocol has no branch that a test does not take.
      thresholds: {
        "packages/lull/src/protocol.ts": { branches: 100 },
        "packages/lull/src/window.ts": { branches: 100 },
        "packages/lull/src/pace.ts": { branches: 100 },
      },
    },
  },
});
