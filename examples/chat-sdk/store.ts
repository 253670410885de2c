// One file that every process of the bot opens.
import { DatabaseSync } from "@photostructure/sqlite";
import { sqlite } from "lull/sqlite";

export const store = sqlite(new DatabaseSync(process.env.DATABASE ?? "bot.db"));
