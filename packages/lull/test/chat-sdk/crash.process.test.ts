// Two processes of one bot, the real adapters, kill -9: the other process answers, once.
import { afterEach, beforeEach, expect, it } from "vitest";
import { able } from "../../../../scripts/channel-gates.mjs";
import { temporaryFolder } from "../stores/database.ts";
import { type Bots, openBots } from "./bots.ts";
import { person, sleep, until } from "./support.ts";

let folder: ReturnType<typeof temporaryFolder>;
let bots: Bots;
beforeEach(async () => {
  folder = temporaryFolder();
  bots = await openBots(folder.path("bot.db"));
});
afterEach(async () => {
  await bots.close();
  folder.remove();
});

it("on every platform at once: killed while it thinks, answered by the other process with everything", async () => {
  const { platforms, start } = bots;
  const victim = await start("victim", 60_000);
  const people = able("kill").map((name) => ({ name, ...person(name, platforms) }));
  for (const { name, says, double } of people) {
    expect(await double.deliver(says(1, "hi"), victim.hook(name))).toEqual([200]);
    expect(await double.deliver(says(2, "my order is late"), victim.hook(name))).toEqual([200]);
  }
  await until(
    () => victim.said.filter((line) => line.includes("thinks about hi+my order is late")).length,
    (count) => count >= people.length,
    30_000,
  );
  victim.child.kill("SIGKILL");
  // Nobody writes anything more.
  await start("other", 50);
  for (const { double } of people) {
    await until(
      () => double.texts(),
      (texts) => texts.length > 0,
      30_000,
    );
    expect(double.texts()).toEqual(["re: hi+my order is late"]);
  }
  await sleep(1_000);
  expect(people.map(({ double }) => double.texts().length)).toEqual([1, 1, 1, 1]);
});

it("killed before it could acknowledge: the platform's repetition is answered by the other process, once", async () => {
  const { start } = bots;
  const victim = await start("victim", 50);
  const { telegram } = bots.platforms;
  const other = await start("other", 50);
  const update = telegram.message({ chat: 42, id: 1, text: "hi" });
  // Whether the first post was stored or not is left to chance: both must end in one answer.
  const first = telegram.deliver(update, victim.hook("telegram"), { pace: 0 });
  victim.child.kill("SIGKILL");
  await first;
  expect(await telegram.deliver(update, other.hook("telegram"))).toEqual([200]);
  await until(
    () => telegram.texts(),
    (texts) => texts.length > 0,
    30_000,
  );
  await sleep(2_500);
  expect(telegram.texts()).toEqual(["re: hi"]);
});
