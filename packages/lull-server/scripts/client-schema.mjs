// `npm run generate:client`: writes src/client/schema.ts, the client's types, from the OpenAPI document of what is built.
// A test calls `clientSchema` with the sources' document and compares: it says when the file is stale.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
export const schemaFile = here("../src/client/schema.ts");

const header = `/**
 * Generated from the OpenAPI document (\`GET /openapi.json\`) with openapi-typescript: do not edit it,
 * \`npm run generate:client\` writes it anew.
 *
 * @module
 */
`;

/**
 * The text of schema.ts, formatted as everything here.
 *
 * @param {Record<string, unknown>} document OpenAPI 3.1
 * @returns {Promise<string>}
 */
export async function clientSchema(document) {
  // A copy: the parser writes into what it is given.
  const copy = /** @type {import("openapi-typescript").OpenAPI3} */ (
    /** @type {unknown} */ (structuredClone(document))
  );
  const text = header + astToString(await openapiTS(copy, { alphabetize: true }));
  const biome = here("../../../node_modules/@biomejs/biome/bin/biome");
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [biome, "format", "--stdin-file-path=packages/lull-server/src/client/schema.ts"],
    { cwd: here("../../.."), input: text, encoding: "utf8", maxBuffer: 1 << 26 },
  );
  if (status !== 0) throw new Error(`biome could not format the client's types: ${stderr}`);
  return stdout;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const load = (/** @type {string} */ name) => import(new URL(`../dist/${name}.js`, import.meta.url).href);
  const [{ loadConfig }, { openApi }, { createSchemas }] = await Promise.all(
    ["config", "openapi", "schemas"].map(load),
  );
  const { config } = await loadConfig({ env: {}, cwd: here("."), flags: {} });
  writeFileSync(schemaFile, await clientSchema(openApi(createSchemas(config), true)));
}
