// Two processes of one bot on one Redis, the real adapters, kill -9: the other process answers, once.
import { expect, it, onTestFinished } from "vitest";
import { able } from "../../../../scripts/channel-gates.mjs";
import { startRedis } from "../../../../scripts/servers/redis.mjs";
import { openBots } from "./bots.ts";
import { person, sleep, until } from "./support.ts";

it("killed while it thinks, on Redis: answered by the other process with everything", async () => {
  const server = await startRedis();
  const { platforms, start, close } = await openBots(server.url);
  onTestFinished(async () => {
    await close();
    await server.end();
  });
  const people = able("kill").map((name) => ({ name, ...person(name, platforms) }));
  const victim = await start("victim", 60_000);
  for (const { name, says, double } of people)
    for (const [id, text] of [
      [1, "hi"],
      [2, "my order is late"],
    ] as const)
      expect((await double.deliver(says(id, text), victim.hook(name))).at(-1)).toBe(200);
  await until(
    () => victim.said.filter((line) => line.includes("thinks about hi+my order is late")).length,
    (count) => count >= people.length,
    30_000,
  );
  victim.child.kill("SIGKILL");
  // Nobody writes anything more.
  await start("other", 50);
  for (const { double } of people)
    await until(
      () => double.texts(),
      (texts) => texts.length > 0,
      30_000,
    );
  await sleep(1_000);
  expect(people.map(({ double }) => double.texts())).toEqual(people.map(() => ["re: hi+my order is late"]));
});
