// People who write in bursts: replayed from recorded chats, or drawn from fitted distributions.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { lognormal, normal } from "./random.mjs";

/**
 * @typedef {object} Message
 * @property {number} gapMs   from the message before it in the turn; 0 for the first
 * @property {number | null} typingMs  first key to send; null where nobody measured it
 * @property {string} text
 *
 * @typedef {object} Turn
 * @property {Message[]} messages
 * @property {number} abandonsMs  typed for so long behind the last message, and sent nothing; 0: did not
 * @property {number} reactionMs  from our last reply to the first key of the turn, once it was read
 *
 * @typedef {object} Person
 * @property {Turn[]} turns
 *
 * @typedef {object} Set
 * @property {string} name
 * @property {string} about
 * @property {boolean} typing  typing times are known
 * @property {Person[]} people
 */

const data = (/** @type {string} */ name) =>
  readFileSync(fileURLToPath(new URL(`corpus/${name}`, import.meta.url)), "utf8");

/** Reading a reply takes so long before anybody reacts to it: some ninety characters at thirty a second. */
export const readingMs = 3_000;

/** @param {number} length @param {boolean} question */
function textOf(length, question) {
  const text = "x".repeat(Math.max(1, length - (question ? 1 : 0)));
  return question ? `${text}?` : text;
}

/**
 * Each author of each dialogue writes to a bot of their own: their turns, one after the other. The clock of the corpus
 * ticks in seconds, so gaps are moved by up to half a second.
 * @param {() => number} random
 * @returns {Set}
 */
export function meetup(random) {
  const [head, ...rows] = data("bursts_meetup.csv").trim().split("\n");
  const names = (head ?? "").split(",");
  const at = (/** @type {string} */ name) => names.indexOf(name);
  /** @type {Map<string, Map<string, Message[]>>} */
  const people = new Map();
  for (const row of rows) {
    const cells = row.split(",");
    const value = (/** @type {string} */ name) => cells[at(name)] ?? "";
    const turns = people.get(`${value("conv")} ${value("user")}`) ?? new Map();
    people.set(`${value("conv")} ${value("user")}`, turns);
    const turn = turns.get(value("turn")) ?? [];
    turns.set(value("turn"), turn);
    turn.push({
      gapMs: Number(value("gap_ms")),
      typingMs: null,
      text: textOf(Number(value("len")), value("punct") === "2"),
    });
  }
  return {
    name: "meetup",
    about: "MeetUp!, replayed: two people at a task, one-off visitors",
    typing: false,
    people: [...people.values()].map((turns) => ({
      turns: [...turns.values()].map((messages) => ({
        // The corpus tells the gap behind a message; here it stands before the next one.
        messages: messages.map((message, index) => ({
          ...message,
          gapMs:
            index === 0 ? 0 : Math.max(200, (messages[index - 1]?.gapMs ?? 0) + Math.round((random() - 0.5) * 1_000)),
        })),
        abandonsMs: 0,
        reactionMs: readingMs + Math.round(lognormal(random, 0.851, 1.259) * 1_000),
      })),
    })),
  };
}

/** Share of questions, and what a question does to the odds of a further message: alike in all five corpora. */
const questions = { share: 0.12, odds: 0.5 };
/** Turns behind whose last message somebody types and sends nothing. In none of the corpora; a guess. */
const abandoned = 0.05;

/**
 * People who come back: the share of their messages that they go on after differs from one to the next. Gaps are a pause
 * and the typing of the next message, so typing events can be drawn too.
 * @param {() => number} random
 * @param {{ people: number, turns: number, slower?: number, oneOff?: boolean }} size  `slower`: phones
 * @returns {Set}
 */
export function generated(random, { people, turns, slower = 1, oneOff = false }) {
  const sets = Object.values(JSON.parse(data("generator_params.json")));
  const [desk, other] = sets;
  const {
    len_chars_lognormal: length,
    pause_before_typing_s_lognormal: pause,
    typing_chars_per_s_lognormal: speed,
  } = desk;
  const { user_p_continue_beta: habit, p_continue_by_index: byIndex } = oneOff ? other : desk;
  const odds = (/** @type {number} */ p) => p / (1 - p);

  /** @param {number} own @returns {Turn} */
  function turn(own) {
    const pace = lognormal(random, speed.mu, speed.sigma) / slower;
    /** @type {Message[]} */
    const messages = [];
    for (;;) {
      const characters = Math.min(400, Math.max(1, Math.round(lognormal(random, length.mu, length.sigma))));
      const question = random() < questions.share;
      const typingMs = Math.round((characters / pace) * 1_000);
      const pauseMs = Math.round(lognormal(random, pause.mu, pause.sigma) * 1_000);
      const gapMs = messages.length === 0 ? 0 : pauseMs + typingMs;
      // What comes later than that is a turn of its own, as in the corpora.
      if (gapMs > 60_000) break;
      messages.push({ gapMs, typingMs, text: textOf(characters, question) });
      const index = Math.min(messages.length - 1, byIndex.length - 1);
      const goesOn = ((odds(own) * odds(byIndex[index])) / odds(byIndex[0])) * (question ? questions.odds : 1);
      if (messages.length === 12 || random() >= goesOn / (1 + goesOn)) break;
    }
    return {
      messages,
      abandonsMs: random() < abandoned ? Math.round(lognormal(random, 1.3, 0.9) * 1_000) : 0,
      reactionMs: readingMs + Math.round(lognormal(random, pause.mu, pause.sigma) * 1_000),
    };
  }

  return {
    name: oneOff ? "one-off" : slower > 1 ? "phones" : "returning",
    about: oneOff
      ? "drawn: people who come once"
      : slower > 1
        ? "drawn: people who come back, on phones"
        : "drawn: people who come back, at desks, typing events known",
    typing: true,
    people: Array.from({ length: people }, () => {
      const own = Math.min(0.9, Math.max(0.005, beta(random, habit.a, habit.b)));
      return { turns: Array.from({ length: turns }, () => turn(own)) };
    }),
  };
}

/** @param {() => number} random @param {number} a @param {number} b */
function beta(random, a, b) {
  const x = gamma(random, a);
  return x / (x + gamma(random, b));
}

/** Marsaglia and Tsang. @param {() => number} random @param {number} shape at least 1 @returns {number} */
function gamma(random, shape) {
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normal(random);
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - random()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}
