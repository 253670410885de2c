// Two servers on one file, four platforms, kill -9: the other server answers, once, with everything.
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "lull";
import { discordDouble, slackDouble, telegramDouble, whatsappDouble } from "lull/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { openScene } from "./support/processes.ts";

const clock = systemClock();

test("a server that is killed while it thinks is replaced on every platform at once", async () => {
  const [telegram, slack, whatsapp, discord] = await Promise.all([
    telegramDouble({ clock }),
    slackDouble({ clock }),
    whatsappDouble({ clock }),
    discordDouble({ clock }),
  ]);
  const platforms = [telegram, slack, whatsapp, discord];
  const scene = await openScene({
    settings: {
      LULL_RESPOND: "demo",
      LULL_DELIVER: "events",
      LULL_START_MS: "300",
      TELEGRAM_BOT_TOKEN: telegram.token,
      TELEGRAM_WEBHOOK_SECRET_TOKEN: telegram.secretToken,
      TELEGRAM_API_BASE_URL: telegram.url,
      SLACK_BOT_TOKEN: slack.token,
      SLACK_SIGNING_SECRET: slack.signingSecret,
      SLACK_API_URL: `${slack.url}/api/`,
      WHATSAPP_ACCESS_TOKEN: whatsapp.accessToken,
      WHATSAPP_APP_SECRET: whatsapp.appSecret,
      WHATSAPP_PHONE_NUMBER_ID: whatsapp.phoneNumberId,
      WHATSAPP_VERIFY_TOKEN: whatsapp.verifyToken,
      WHATSAPP_API_URL: whatsapp.url,
      DISCORD_BOT_TOKEN: discord.botToken,
      DISCORD_PUBLIC_KEY: discord.publicKey,
      DISCORD_APPLICATION_ID: discord.applicationId,
      DISCORD_API_URL: discord.url,
    },
  });
  onTestFinished(async () => {
    await scene.close();
    await Promise.all(platforms.map((one) => one.close()));
  });
  const victim = await scene.start("victim", { LULL_DEMO_MS: "60000" });
  await vi.waitFor(() => expect(victim.told()).toContain(`${victim.url}/channels/telegram`), 10_000);
  for (const [id, text] of [
    [1, "hi"],
    [2, "my order is late"],
  ] as const) {
    const posts = [
      telegram.deliver(telegram.message({ chat: 42, id, text }), `${victim.url}/channels/telegram`),
      slack.deliver(
        slack.message({ channel: "D42", ts: `1750000000.00000${id}`, text }),
        `${victim.url}/channels/slack`,
      ),
      whatsapp.deliver(
        whatsapp.message({ from: "15551234567", id: `wamid.${id}`, text }),
        `${victim.url}/channels/whatsapp`,
      ),
      discord.deliver(
        discord.message({ channel: "420000000000000000", id: `50000000000000000${id}`, content: text }),
        `${victim.url}/channels/discord`,
      ),
    ];
    // A busy machine may be slower than a platform waits; then it posted twice.
    expect((await Promise.all(posts)).map((statuses) => statuses.at(-1))).toEqual([200, 200, 200, 200]);
  }
  // It thinks about all of them.
  await vi.waitFor(
    async () => {
      const { conversations } = await scene.get(victim, "/v1/conversations");
      const states = (conversations as { state: string }[]).map(({ state }) => state);
      expect(states).toEqual(["answering", "answering", "answering", "answering"]);
    },
    { timeout: 30_000, interval: 100 },
  );
  victim.kill("SIGKILL");
  await scene.start("other", { LULL_DEMO_MS: "50" });
  await vi.waitFor(() => expect(platforms.map((one) => one.texts().length)).toEqual([1, 1, 1, 1]), {
    timeout: 60_000,
    interval: 100,
  });
  await sleep(2_000);
  for (const one of platforms) expect(one.texts()).toEqual([expect.stringContaining("1. hi\n2. my order is late")]);
});
