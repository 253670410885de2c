// docs/scenarios.md, from the rows and what became of them.
import type { Scenario, Scenarios } from "./scenario.ts";

export interface Row {
  id: string;
  source: string;
  symptom: string;
  kind: string;
}

/** What the kinds mean. */
const meanings: Readonly<Record<string, string>> = {
  "DUP-IN": "the same inbound event delivered or ingested more than once",
  "LOSS-IN": "an accepted message never reaches a turn",
  LEASE: "a lock that expires, sticks, is released too early or believes a clock",
  TIMER: "a debounce timer that rings never, twice or late, or is swallowed",
  STALE: "an outdated answer, or one that does not cover what came",
  STARVE: "a livelock, or something pending that nobody will finish",
  ORDER: "what people wrote arrives in the wrong order",
  "KEY-ID": "a wrong identity, or a wrong key for duplicates",
  RECOVER: "restarts, backlogs, poison, crash loops",
  SIDE: "a tool's side effect repeated, lost, or done after it was called off",
  STREAM: "drafts, partial output, typing indicators",
  SPECUL: "the model starts before the user has been quiet for long enough",
  "DUP-OUT": "the same text delivered twice",
  "LOSS-OUT": "an answer not delivered, delivered in part, or keeping others waiting",
  "ORDER-OUT": "parts in the wrong order, or under the wrong message",
  HUMAN: "a human takes over, and hands back",
  CONTROL: "stop, reset, approvals",
  PROACT: "messages of the bot's own accord that collide with turns",
  HIST: "the model's history damaged or lost",
  SPLIT: "one thought answered in pieces",
  MUTATE: "edits, deletions, previews, reactions",
  SCOPE: "the wrong people, threads or bots share a turn",
  ECHO: "what the bot sent, or what became of it, taken for input",
};

/** The page as Markdown. */
export function pageOf(rows: readonly Row[], scenarios: Readonly<Record<string, Scenarios>>): string {
  const all = Object.values(scenarios).flatMap((entries) => Object.values(entries));
  const count = (key: "title" | "later" | "notApplicable") => all.filter((scenario) => key in scenario).length;
  const lines = [
    "# Scenarios",
    "",
    "<!-- Generated: node scripts/scenarios.mjs -->",
    "",
    `${rows.length} bug reports about chat bots, from public trackers, told again as timelines with lull in the bot's place.`,
    "Each that is *done* is a test of the same id in `packages/lull/test/scenarios/`, on virtual time, on the memory and the",
    "SQLite store, step by step the same on both:",
    "",
    "```sh",
    "npx vitest run --project unit packages/lull/test/scenarios -t B001",
    "```",
    "",
    `**${count("title")} done**, ${count("later")} later, ${count("notApplicable")} not applicable. The reports are retold in our own words; nothing was tried on the`,
    "projects named.",
  ];
  for (const [kind, entries] of Object.entries(scenarios)) {
    lines.push(
      "",
      `## ${kind}: ${meanings[kind] ?? ""}`,
      "",
      "| Id | Reported | Symptom | With lull |",
      "| --- | --- | --- | --- |",
    );
    for (const row of rows.filter((candidate) => candidate.kind === kind))
      lines.push(`| ${row.id} | ${linked(row.source)} | ${cell(row.symptom)} | ${cell(statusOf(entries[row.id]))} |`);
  }
  return `${lines.join("\n")}\n`;
}

function statusOf(scenario: Scenario | undefined): string {
  if (scenario === undefined) return "";
  if ("later" in scenario) return `**Later**, with ${scenario.later}`;
  if ("notApplicable" in scenario) return `**Not applicable** because ${scenario.notApplicable}`;
  const note = scenario.note === undefined ? "" : ` *${scenario.note}*`;
  return `**Done**: ${scenario.title}.${note}`;
}

/** `owner/name#12` leads to the report. */
function linked(source: string): string {
  return cell(source).replace(
    /(?<![\w/])([\w.-]+\/[\w.-]+)#(\d+)/g,
    (name, repository, number) => `[${name}](https://github.com/${repository}/issues/${number})`,
  );
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
