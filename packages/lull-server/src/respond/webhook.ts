/**
 * Asks a webhook for the answer. The request is closed as soon as the turn is superseded, so the other side
 * can stop thinking; retries after errors are the engine's. A webhook that answers 202 comes back later, with the
 * token it was given (app/turns.ts).
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Answer as LullAnswer, Part, PartLike, Respond, TuneCall } from "lull";
import { z } from "zod";
import { instant, view } from "../app/view.ts";
import { splitId } from "../bots/ids.ts";
import type { Config } from "../settings.ts";
import { createTokens } from "../tokens.ts";
import { call, createSigner } from "../webhook.ts";

/** Largest answer read: more is an error, not a reply. */
const mostBytes = 4 * 1_048_576;

const more = {
  metadata: z.record(z.string(), z.unknown()).optional(),
  /** What the answer cost: noted in the log, and counted by how the attempt ends. */
  tokens: z.int().min(0).optional(),
  /** This conversation's own `debounce` and `whenBusy`, from now on; looked at by the engine. */
  settings: z.object({ debounce: z.unknown().optional(), whenBusy: z.unknown().optional() }).optional(),
};
const answers = z.union([
  z.object({ text: z.string().min(1), ...more }),
  z.object({ parts: z.array(z.unknown()).min(1), ...more }),
  z.object({ silent: z.literal(true), ...more }),
]);

/**
 * @throws ConfigError for a bad address or secret.
 */
export function respondWebhook(config: Config): Respond {
  const signer = createSigner(config, "respond");
  const url = new URL(config.respond);
  return async (turn) => {
    const tokens = createTokens(splitId(turn.ref.conversation).bot, config);
    const id = `turn_${createHash("sha256").update(`${turn.ref.conversation}\0${turn.fence}`).digest("base64url")}`;
    const log = config.historyEntries === 0 ? [] : await turn.log(config.historyEntries);
    const answer = await call(
      url,
      signer,
      id,
      {
        conversation: turn.conversation,
        version: turn.version,
        attempt: turn.attempt,
        fence: turn.fence,
        messages: view(turn.messages),
        log: log.map(view),
        effects: turn.effects,
        address: turn.address,
        metadata: turn.metadata,
        turn: {
          token: tokens.make(turn.ref),
          deadlineAt: instant(turn.deadlineMs),
        },
      },
      { signal: turn.signal, mostBytes },
    );
    const said = `The answering webhook (${url.host}) answered ${answer.status}`;
    if (answer.status >= 300 && answer.status < 400)
      throw new Error(`${said}; redirects are not followed: configure the final address.`);
    if (answer.status === 202) return turn.elsewhere();
    if (answer.status < 200 || answer.status >= 300) throw new Error(`${said}.`);
    if (answer.cut) throw new Error(`${said} with more than ${mostBytes} bytes.`);
    const { settings, tokens: spent, reply } = read(answer.text, said);
    if (spent !== undefined && spent > 0) await turn.spend(spent);
    if (settings !== undefined) await turn.tune(settings as TuneCall);
    return reply;
  };
}

interface Read {
  reply: LullAnswer;
  settings: object | undefined;
  tokens: number | undefined;
}

function read(text: string, said: string): Read {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(
      `${said} with something that is not JSON; { "text": … }, { "parts": […] } or { "silent": true } is wanted.`,
    );
  }
  const result = answers.safeParse(value);
  if (!result.success)
    throw new Error(`${said} with JSON that is neither { "text": … } nor { "parts": […] } nor { "silent": true }.`);
  const { settings, tokens } = result.data;
  if ("silent" in result.data) return { reply: null, settings, tokens };
  const metadata = result.data.metadata === undefined ? {} : { metadata: result.data.metadata as never };
  // The parts themselves are checked by the engine, like those of any responder.
  if ("parts" in result.data)
    return { reply: { parts: result.data.parts as (PartLike | Part)[], ...metadata }, settings, tokens };
  return { reply: { text: result.data.text, ...metadata }, settings, tokens };
}
