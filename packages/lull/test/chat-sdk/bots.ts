// Processes of one bot of the Chat SDK with lull, on one store, and the platforms they talk to.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Name, type Platforms, startPlatforms, until } from "./support.ts";

export interface BotProcess {
  child: ChildProcess;
  /** Lines of its output. */
  said: string[];
  hook(name: Name): string;
}

export interface Bots {
  platforms: Platforms;
  start(owner: string, modelMs: number): Promise<BotProcess>;
  /** Ends every process that was started. */
  close(): Promise<void>;
}

/** @param store a path of an SQLite file, or a `redis://` URL */
export async function openBots(store: string): Promise<Bots> {
  const platforms = await startPlatforms();
  const children: ChildProcess[] = [];
  return {
    platforms,
    async start(owner, modelMs) {
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
      const args = [script, store, owner, String(modelMs), JSON.stringify(given)];
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
    },
    async close() {
      for (const child of children) child.kill("SIGKILL");
      await platforms.close();
    },
  };
}
