/**
 * `lull-server/client`: a client for a lull server, typed from its OpenAPI document. For Node 20 and browsers; it imports
 * nothing of the server.
 *
 * @module
 */
export {
  type Accepted,
  type Call,
  type CallOptions,
  type ClientOptions,
  type EventOptions,
  type LullClient,
  lullClient,
  type Message,
  type Rejected,
  type Reply,
} from "./client.ts";
export type { ServerEvent } from "./events.ts";
export { LullProblem } from "./problem.ts";
export type { components, paths } from "./schema.ts";
