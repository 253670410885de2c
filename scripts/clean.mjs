// `npm run clean`: removes what builds and coverage runs leave behind.
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

rmSync(join(root, "coverage"), { recursive: true, force: true });
for (const name of readdirSync(join(root, "packages"))) {
  rmSync(join(root, "packages", name, "dist"), { recursive: true, force: true });
}
rmSync(join(root, "packages/lull-server/web"), { recursive: true, force: true });
