// Tables, ratios and a chart from the results of a run.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** @typedef {import("./systems/index.mjs").System} System */

/** @param {number[]} values */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/** Median, and the lowest and highest where there are several. @param {number[]} values @param {number} digits */
function spread(values, digits) {
  if (values.length === 0) return "–";
  const shown = (/** @type {number} */ value) =>
    digits === 0 ? Math.round(value).toLocaleString("en") : value.toFixed(digits);
  const middle = shown(median(values));
  return values.length === 1 ? middle : `${middle} (${shown(Math.min(...values))}–${shown(Math.max(...values))})`;
}

/** What each of lull's stores is held against. The last one is its floor. */
const rivals = {
  "lull sqlite": ["floor sqlite"],
  "lull redis": ["bullmq", "bullmq inbox", "chat-sdk burst", "floor redis"],
  "lull postgres": ["pg-boss", "graphile-worker", "dbos", "floor postgres"],
};

/**
 * @param {{ machine: string, repeats: number, results: Record<string, any>[], failures: Map<string, string>, systems: readonly System[] }} run
 */
export function report({ machine, repeats, results, failures, systems }) {
  /** @param {string} system @param {string} mode @param {(result: any) => number} figure */
  const of = (system, mode, figure) =>
    results.filter((result) => result.system === system && result.mode === mode).map(figure);
  const shown = (/** @type {string} */ mode) => systems.filter(({ name }) => of(name, mode, () => 0).length > 0);
  const out = [`${machine}; ${repeats} interleaved repeat${repeats === 1 ? "" : "s"}: medians (lowest–highest).`, ""];
  if (shown("full").length > 0) {
    out.push(
      "### As fast as it takes them: 64 in flight",
      "",
      "| system | accepted/s | ack p50 ms | ack p99 ms | replies per burst | saw all 3 | CPU s per 1,000: node + server | store calls per message | bytes per message |",
      "|---|---|---|---|---|---|---|---|---|",
    );
    for (const { name } of shown("full")) {
      const get = (/** @type {(result: any) => number} */ figure, /** @type {number} */ digits) =>
        spread(of(name, "full", figure), digits);
      out.push(
        `| ${name} | ${get((r) => r.acceptedPerSecond, 0)} | ${get((r) => r.acks.p50, 1)} | ${get((r) => r.acks.p99, 1)} | ${get((r) => r.repliesPerBurst, 2)} | ${get((r) => r.sawAll, 2)} | ${get((r) => r.nodeCpu, 2)} + ${get((r) => r.serverCpu, 2)} | ${get((r) => r.callsPerMessage, 1)} | ${get((r) => r.bytesPerMessage, 0)} |`,
      );
    }
    out.push("");
  }
  if (shown("paced").length > 0) {
    out.push(
      "### As people write: 150 messages/s, gaps of 100 to 300 ms",
      "",
      "Excess: from the last message + 500 ms + 50 ms to the reply. Negative: it did not wait for the quiet.",
      "",
      "| system | ack p50 ms | ack p99 ms | excess p50 ms | excess p99 ms | answered once | saw all 3 | CPU s per 1,000: node + server | store calls per message |",
      "|---|---|---|---|---|---|---|---|---|",
    );
    for (const { name } of shown("paced")) {
      const get = (/** @type {(result: any) => number} */ figure, /** @type {number} */ digits) =>
        spread(of(name, "paced", figure), digits);
      out.push(
        `| ${name} | ${get((r) => r.acks.p50, 2)} | ${get((r) => r.acks.p99, 1)} | ${get((r) => r.excess.p50, 1)} | ${get((r) => r.excess.p99, 1)} | ${get((r) => r.once, 2)} | ${get((r) => r.sawAll, 2)} | ${get((r) => r.nodeCpu, 2)} + ${get((r) => r.serverCpu, 2)} | ${get((r) => r.callsPerMessage, 1)} |`,
      );
    }
    out.push("");
  }
  if (shown("idle").length > 0) {
    out.push("### At rest", "", "| system | store calls/s | node CPU ms/s | memory MB |", "|---|---|---|---|");
    for (const { name } of shown("idle"))
      out.push(
        `| ${name} | ${spread(
          of(name, "idle", (r) => r.calls / 5),
          1,
        )} | ${spread(
          of(name, "idle", (r) => r.cpuSeconds * 200),
          1,
        )} | ${spread(
          of(name, "idle", (r) => r.rssBytes / 1e6),
          0,
        )} |`,
      );
    out.push("");
  }
  const ratios = Object.entries(rivals).flatMap(([mine, others]) =>
    others.flatMap((other) => {
      const cells = ["full", "paced"].map((mode) => {
        const figure = (/** @type {any} */ r) => (mode === "full" ? r.acceptedPerSecond : r.nodeCpu + r.serverCpu);
        // The same repeat: whatever the machine did then, it did to both.
        const pairs = results
          .filter((r) => r.system === mine && r.mode === mode)
          .flatMap((r) => {
            const peer = results.find((o) => o.system === other && o.mode === mode && o.repeat === r.repeat);
            return peer === undefined ? [] : [figure(r) / figure(peer)];
          });
        return spread(pairs, 2);
      });
      return cells.every((cell) => cell === "–") ? [] : [`| ${mine} by ${other} | ${cells.join(" | ")} |`];
    }),
  );
  if (ratios.length > 0)
    out.push(
      "### Ratios within a repeat",
      "",
      "| | accepted/s, higher is better | CPU per message, paced, lower is better |",
      "|---|---|---|",
      ...ratios,
      "",
    );
  for (const [name, why] of failures) out.push(`${name} does not run here: ${why}`, "");
  return out.join("\n");
}

/** @param {string} page @param {Record<string, any>} json */
export function publish(page, json) {
  const path = fileURLToPath(new URL("../../../docs/performance.md", import.meta.url));
  const [begin, end] = ["<!-- speed: generated by npm run bench -->", "<!-- /speed -->"];
  const [before, rest] = readFileSync(path, "utf8").split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`docs/performance.md lacks ${begin} … ${end}`);
  writeFileSync(path, `${before}${begin}\n\n${page}\n${end}${after}`);
  writeFileSync(fileURLToPath(new URL("../../../docs/performance.svg", import.meta.url)), bars(json.results));
  writeFileSync(fileURLToPath(new URL("results.json", import.meta.url)), `${JSON.stringify(json)}\n`);
}

/** Accepted messages per second, a bar a system. @param {Record<string, any>[]} results */
function bars(results) {
  const names = [...new Set(results.filter(({ mode }) => mode === "full").map(({ system }) => system))];
  const rows = names.map((name) => ({
    name,
    value: median(
      results.filter(({ system, mode }) => system === name && mode === "full").map((r) => r.acceptedPerSecond),
    ),
  }));
  const most = Math.max(...rows.map(({ value }) => value));
  const height = 30 + rows.length * 22;
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="10" y="18" font-weight="bold">Messages accepted per second, 64 in flight (longer is better)</text>`,
  ];
  rows.forEach(({ name, value }, index) => {
    const y = 30 + index * 22;
    const colour = name.startsWith("lull") ? "#0b6e99" : name.startsWith("floor") ? "#bbbbbb" : "#c77d0a";
    out.push(
      `<text x="150" y="${y + 13}" text-anchor="end">${name}</text>`,
      `<rect x="158" y="${y}" width="${((value / most) * 460).toFixed(1)}" height="16" fill="${colour}"/>`,
      `<text x="${(164 + (value / most) * 460).toFixed(1)}" y="${y + 13}">${Math.round(value).toLocaleString("en")}</text>`,
    );
  });
  return `${[...out, "</svg>"].join("\n")}\n`;
}
