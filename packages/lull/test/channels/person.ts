// One person in a direct chat, on any of the four platforms on loopback.
import { systemClock } from "lull";
import {
  discordDouble,
  type PlatformDouble,
  slackDouble,
  telegramDouble,
  type WebhookPost,
  whatsappDouble,
} from "lull/testing";

export type Name = "telegram" | "slack" | "whatsapp" | "discord";
export const names: readonly Name[] = ["telegram", "slack", "whatsapp", "discord"];

const clock = systemClock();

export async function startPlatforms() {
  const platforms = {
    telegram: await telegramDouble({ clock }),
    slack: await slackDouble({ clock }),
    whatsapp: await whatsappDouble({ clock }),
    discord: await discordDouble({ clock }),
  };
  return {
    ...platforms,
    close: () => Promise.all(Object.values(platforms).map((one) => one.close())),
  };
}
export type Platforms = Awaited<ReturnType<typeof startPlatforms>>;

/** What a platform posts; called with how often it was posted before. */
export type Post = (nth: number) => WebhookPost;

export interface Person {
  double: PlatformDouble;
  says(id: number, text: string): Post;
  /** Throws where the platform does not tell. */
  edits(id: number, text: string, before: string): Post;
  deletes(id: number, text: string): Post;
  /** Photos sent together, the caption with the first, in as many posts as the platform makes of them. */
  sendsAlbum(id: number, caption: string, photos: readonly string[]): Post[];
}

export function person(name: Name, { telegram, slack, whatsapp, discord }: Platforms): Person {
  const untold = () => {
    throw new Error(`${name} does not tell a bot of that`);
  };
  switch (name) {
    case "telegram":
      return {
        double: telegram,
        says: (id, text) => telegram.message({ chat: 42, id, text }),
        edits: (id, text) => telegram.edited({ chat: 42, id, text, editedAtS: 1_750_000_000 }),
        deletes: untold,
        sendsAlbum: (id, caption, photos) =>
          photos.map((photo, at) =>
            telegram.message({ chat: 42, id: id + at, photo, group: "g", ...(at === 0 && { text: caption }) }),
          ),
      };
    case "slack": {
      const at = (id: number) => ({ channel: "D42", ts: `1750000000.00000${id}` });
      return {
        double: slack,
        says: (id, text) => slack.message({ ...at(id), text }),
        edits: (id, text, before) => slack.edited({ ...at(id), text, before }),
        deletes: (id, text) => slack.deleted({ ...at(id), text }),
        sendsAlbum: (id, text, photos) => [slack.message({ ...at(id), text, photos: [...photos] })],
      };
    }
    case "whatsapp": {
      const from = "15551234567";
      return {
        double: whatsapp,
        says: (id, text) => whatsapp.message({ from, id: `wamid.in.${id}`, text }),
        edits: untold,
        deletes: untold,
        sendsAlbum: (id, caption, photos) =>
          photos.map((image, at) =>
            whatsapp.message({ from, id: `wamid.in.${id + at}`, image, ...(at === 0 && { text: caption }) }),
          ),
      };
    }
    case "discord": {
      const at = (id: number) => ({ channel: "420000000000000000", id: `50000000000000000${id}` });
      return {
        double: discord,
        says: (id, content) => discord.message({ ...at(id), content }),
        edits: (id, content) => discord.edited({ ...at(id), content }),
        deletes: (id) => discord.deleted(at(id)),
        sendsAlbum: (id, content, photos) => [discord.message({ ...at(id), content, photos: [...photos] })],
      };
    }
  }
}
