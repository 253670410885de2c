/**
 * Watches every visible act: who is told to act, which side effects run, and what appears before users' eyes.
 *
 * @module
 */
import type { Ledger, Reply } from "./ledger.ts";
import { breaks, Violation } from "./violation.ts";
import type { World } from "./world.ts";

/** A worker was told that it may show a part, or run the author's code: only the newest holder may be. */
export function granted({ ledger }: World, claimId: string, what: string): void {
  if (ledger.holder !== claimId) breaks("I4", `a worker that had lost its lease is told to ${what}`);
}

/** A side effect is about to run. */
export function runs(world: World, span: number, ledgerSpan: number, inDoubt: boolean): void {
  const { ledger } = world;
  const known = ledger.spanOf.find(([protocol, mine]) => protocol === span || mine === ledgerSpan);
  if (known !== undefined && (known[0] !== span || known[1] !== ledgerSpan))
    breaks("I7", "one range's effects are taken for another's: its idempotency key is wrong");
  if (ledger.results.includes(ledgerSpan)) breaks("I7", "an effect runs again that has a recorded result");
  const fine = world.budget.faults === world.config.faults;
  if (known !== undefined && fine) breaks("I7", "an effect runs again although nothing went wrong");
  for (const process of world.processes)
    if (process.tools.some((tool) => tool.ledgerSpan === ledgerSpan && (fine || (!process.frozen && !inDoubt))))
      breaks("I7", "the same effect runs twice at once");
  if (world.errands.some((errand) => errand.tool !== null && errand.span === ledgerSpan && (fine || !inDoubt)))
    breaks("I7", "the same effect runs twice at once, once of them outside");
  if (known === undefined) world.ledger = { ...ledger, spanOf: [...ledger.spanOf, [span, ledgerSpan]] };
}

/** A side effect is not run, because it has a result. */
export function served({ ledger }: World, ledgerSpan: number): void {
  if (!ledger.results.includes(ledgerSpan)) breaks("I7", "an attempt is given the result of another range's effect");
}

/** From here on a lease may run out under its holder. */
export function lapses(world: World): void {
  if (!world.ledger.lapsed) world.ledger = { ...world.ledger, lapsed: true };
}

/** A part appears before a user's eyes. `late`: its sender had lost its lease while the part was on its way. */
export function shows(world: World, replyId: string, part: number, late: boolean): void {
  const ledger: Ledger = { ...world.ledger };
  world.ledger = ledger;
  const index = ledger.replies.findIndex(({ id }) => id === replyId);
  const reply = ledger.replies[index];
  if (reply === undefined) throw new Violation("I2", "a part is shown of a reply that was never committed");
  const state = reply.states[part];
  if (reply.outcome === "withdrawn") breaks("I2", "a part is shown of a reply that was taken back");
  if (state === "failed" || state === "cancelled") breaks("I10", `a part is shown that counts as ${state}`);
  const times = reply.shown[part] ?? 0;
  const { channel, faults } = world.config;
  const fine = world.budget.faults === faults;
  if (late && fine) breaks("I4", "a part is shown by a worker that had lost its lease, though nothing went wrong");
  if (times > 0 && (channel === "idempotent" || fine)) breaks("I10", "a part is shown twice");
  if (times > 0 && channel === "at-most-once" && !late)
    breaks("I10", "a part is shown twice that was to be shown at most once");
  if (!late) inOrder(ledger, reply, index, part, times);
  const { latest } = ledger;
  if (
    reply.cause !== "send" &&
    (latest === null || index > latest.reply || (index === latest.reply && part > latest.part))
  )
    ledger.latest = { reply: index, part };
  ledger.replies = ledger.replies.map((other) =>
    other === reply ? { ...reply, shown: reply.shown.map((n, at) => (at === part ? n + 1 : n)) } : other,
  );
  if (reply.cause !== "turn") return;
  ledger.notes = ledger.notes.map((note) => {
    if (note.reply !== index) return note;
    if (note.answer !== null && note.answer !== index) breaks("I2", `users see two answers to version ${note.version}`);
    return { ...note, answer: index };
  });
}

/** I8: replies one after another, and so the parts of each. */
function inOrder({ latest, replies }: Ledger, reply: Reply, index: number, part: number, times: number): void {
  if (reply.states.slice(0, part).some((before) => before === "queued")) breaks("I8", "a part overtakes another");
  const other = replies.find((one, at) => one.outcome === null && one.cause !== "send" && at !== index);
  if (other !== undefined && (reply.cause === "send" || replies.indexOf(other) < index))
    breaks("I8", "a reply overtakes another");
  if (reply.cause === "send" || times > 0 || latest === null) return;
  if (latest.reply > index || (latest.reply === index && latest.part > part))
    breaks("I8", "a part is shown after one that comes behind it");
}
