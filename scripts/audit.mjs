// `node scripts/audit.mjs`: fails for a known vulnerability of severity high or above in what users of the packages install.
// A registry that offers no audit (many mirrors) cannot tell: then it says so, plainly, and does not fail.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { stdout, stderr } = spawnSync("npm", ["audit", "--omit=dev", "--audit-level=high", "--json"], {
  cwd: root,
  encoding: "utf8",
  shell: process.platform === "win32",
});

/** @type {{ metadata?: { vulnerabilities: Record<string, number>, dependencies: { prod: number } }, vulnerabilities?: Record<string, { name: string, severity: string, range: string, via: unknown[], fixAvailable: unknown }>, error?: { summary?: string }, message?: string } | null} */
let report = null;
try {
  report = JSON.parse(stdout);
} catch {
  // npm itself failed; what it said is told below.
}

if (!report?.metadata) {
  const why = report?.message || report?.error?.summary || stderr.trim().split("\n").at(-1) || "npm said nothing";
  console.log(`NOT AUDITED: the registry did not answer npm audit (${why}). Run it against one that does.`);
} else {
  const { vulnerabilities: counts, dependencies } = report.metadata;
  const bad = Object.values(report.vulnerabilities ?? {}).filter(({ severity }) => /^(high|critical)$/.test(severity));
  for (const { name, severity, range, via } of bad) {
    const titles = via.flatMap((cause) =>
      typeof cause === "object" && cause !== null && "title" in cause ? [String(cause.title)] : [],
    );
    console.log(`${severity}: ${name} ${range}${titles.length > 0 ? `: ${titles.join("; ")}` : ""}`);
  }
  const told = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => `${count} ${severity}`)
    .join(", ");
  console.log(`${dependencies.prod} installed packages audited: ${told || "nothing known against them"}`);
  process.exitCode = bad.length > 0 ? 1 : 0;
}
