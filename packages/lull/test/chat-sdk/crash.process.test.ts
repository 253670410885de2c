// Two processes of one bot, the real adapters, kill -9: the other process answers, once.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { able } from "../../../../scripts/channel-gates.mjs";
import { temporaryFolder } from "../stores/database.ts";
import { type Name, type Platforms, person, sleep, startPlatforms, until } from "./support.ts";

let folder: ReturnType<typeof temporaryFolder>;
let platforms: Platforms;
let children: ChildProcess[];
beforeEach(async () => {
  folder = temporaryFolder();
  platforms = await startPlatforms();
  children = [];
});
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  await platforms.close();
  folder.remove();
});

async function start(owner: string, modelMs: number) {
  const { telegram, slack, whatsapp, discord } = platforms;
  const given = {
    telegram: { apiUrl: telegram.url, botToken: telegram.token, secretToken: telegram.secretToken },
    slack: { apiUrl: `${slack.url}/api/`, botToken: slack.token, signingSecret: slack.signingSecret },
    whatsapp: {
      apiUrl: whatsapp.url,
      accessToken: whatsapp.accessToken,
      appSecret: whatsapp.appSecret,
      phoneNumberId: whatsapp.phoneNumberId,
      verifyToken: whatsapp.verifyToken,
    },
    discord: {
      apiUrl: discord.url,
      botToken: discord.botToken,
      publicKey: discord.publicKey,
      applicationId: discord.applicationId,
    },
  };
  const script = fileURLToPath(new URL("processes/bot.mjs", import.meta.url));
  const args = [script, folder.path("bot.db"), owner, String(modelMs), JSON.stringify(given)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const said: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => said.push(line));
  const port = await until(
    () =>
      said
        .find((line) => line.includes(" listens "))
        ?.split(" ")
        .at(-1),
    (found) => found !== undefined,
    60_000,
  );
  return { child, said, hook: (name: Name) => `http://127.0.0.1:${port}/${name}` };
}

it("on every platform at once: killed while it thinks, answered by the other process with everything", async () => {
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
  const victim = await start("victim", 50);
  const { telegram } = platforms;
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
