/**
 * One id for a request, from its caller (a proxy, say) or new: in the answer, in the log, in what a caller reports.
 *
 * @module
 */
import { randomUUID } from "node:crypto";

/** What may stand in a log and in a header as it is. */
const plain = /^[A-Za-z0-9._:/+=@-]{1,128}$/;

export function requestIdOf(header: string | undefined): string {
  return header !== undefined && plain.test(header) ? header : randomUUID();
}
