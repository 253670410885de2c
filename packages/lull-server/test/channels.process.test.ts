// Servers on one file, four platforms: kill -9, and a file that cannot be written. Every answer once, with everything.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { able } from "../../../scripts/channel-gates.mjs";
import { type Post, person, startPlatforms } from "../../lull/test/channels/person.ts";
import { openDatabase } from "../../lull/test/stores/database.ts";
import { channelSettings } from "./support/channels.ts";
import { openScene } from "./support/processes.ts";

const readyMs = 30_000;
const answeredMs = 60_000;

async function open() {
  const platforms = await startPlatforms();
  const settings = {
    LULL_RESPOND: "demo",
    LULL_DELIVER: "events",
    LULL_START_MS: "300",
    ...channelSettings(platforms),
  };
  const scene = await openScene({ settings });
  onTestFinished(async () => {
    await scene.close();
    await platforms.close();
  });
  return { platforms, scene };
}

test("a server that is killed while it thinks is replaced on every platform at once", async () => {
  const { platforms, scene } = await open();
  const people = able("kill").map((name) => ({ name, ...person(name, platforms) }));
  const victim = await scene.start("victim", { LULL_DEMO_MS: "60000" });
  await vi.waitFor(() => expect(victim.told()).toContain(`${victim.url}/channels/telegram`), 10_000);
  for (const [id, text] of [
    [1, "hi"],
    [2, "my order is late"],
  ] as const) {
    const posts = people.map(({ name, says, double }) =>
      double.deliver(says(id, text), `${victim.url}/channels/${name}`),
    );
    // A busy machine may be slower than a platform waits; then it posted twice.
    expect((await Promise.all(posts)).map((statuses) => statuses.at(-1))).toEqual(people.map(() => 200));
  }
  // It thinks about all of them.
  await vi.waitFor(
    async () => {
      const { conversations } = await scene.get(victim, "/v1/conversations");
      const states = (conversations as { state: string }[]).map(({ state }) => state);
      expect(states).toEqual(people.map(() => "answering"));
    },
    { timeout: readyMs, interval: 100 },
  );
  victim.kill("SIGKILL");
  await scene.start("other", { LULL_DEMO_MS: "50" });
  await vi.waitFor(() => expect(people.map(({ double }) => double.texts().length)).toEqual(people.map(() => 1)), {
    timeout: answeredMs,
    interval: 100,
  });
  await sleep(2_000);
  for (const { double } of people)
    expect(double.texts()).toEqual([expect.stringContaining("1. hi\n2. my order is late")]);
});

test("what a server cannot write is not acknowledged, and delivered again it is answered", async () => {
  const { platforms, scene } = await open();
  const server = await scene.start("only", { LULL_DEMO_MS: "50" });
  // Somebody else writes into the file, and does not end.
  const intruder = openDatabase(scene.database);
  onTestFinished(() => {
    intruder.close();
  });
  intruder.exec("begin immediate");
  const refused = new Set<string>();
  const people = able("write").map((name) => {
    const { says, double } = person(name, platforms);
    const post = says(1, "hi");
    const again: Post = (nth) => {
      if (nth > 0) refused.add(name);
      return post(nth);
    };
    return { double, delivered: double.deliver(again, `${server.url}/channels/${name}`, { pace: 0.1 }) };
  });
  await vi.waitFor(() => expect([...refused].sort()).toEqual([...able("write")].sort()), {
    timeout: answeredMs,
    interval: 50,
  });
  expect(people.flatMap(({ double }) => double.texts())).toEqual([]);
  intruder.exec("rollback");
  for (const { double, delivered } of people) {
    const statuses = await delivered;
    // 503, or nothing within the platform's patience.
    expect([0, 503]).toContain(statuses[0]);
    expect(statuses.at(-1)).toBe(200);
    await vi.waitFor(() => expect(double.texts().length).toBe(1), { timeout: answeredMs, interval: 100 });
  }
  await sleep(2_000);
  for (const { double } of people) expect(double.texts()).toEqual([expect.stringContaining("1. hi")]);
});
