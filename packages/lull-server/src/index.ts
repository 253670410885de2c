/**
 * lull-server as a library: start one inside another program, or only its HTTP application.
 *
 * @module
 */
export { createApp, type Deps } from "./app/index.ts";
export { type Key, parseKeys, type Role } from "./auth.ts";
export { ConfigError, type Loaded, loadConfig, type Sources } from "./config.ts";
export { createHealth, type Health } from "./health/index.ts";
export { createLogger, type Logger } from "./log.ts";
export { createMetrics, type Metrics } from "./metrics.ts";
export { openApi, version } from "./openapi.ts";
export { createSchemas, type Schemas } from "./schemas.ts";
export { createServer, lullOptions, type Server } from "./server.ts";
export { type Config, type SettingName, type SettingSpec, settings } from "./settings.ts";
