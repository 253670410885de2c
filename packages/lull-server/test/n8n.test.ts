/**
 * The workflow of `examples/n8n`, as far as it can be checked without n8n: it is one that n8n can read, its nodes are connected,
 * and what it asks of lull exists.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { operations } from "../src/openapi.ts";
import { testApp } from "./support/app.ts";

interface Node {
  id: string;
  name: string;
  type: string;
  typeVersion: number;
  parameters: { method?: string; url?: string; jsonBody?: string; path?: string };
}
interface Workflow {
  nodes: Node[];
  connections: Record<string, { main: { node: string; type: string; index: number }[][] }>;
}

const file = new URL("../../../examples/n8n/lull.json", import.meta.url);
const workflow = JSON.parse(readFileSync(file, "utf8")) as Workflow;

/** `=a{{ expression }}b` → `a…b`, with the expression's value by its text. */
const filled = (text: string, value: (expression: string) => string) =>
  text.replace(/^=/, "").replace(/\{\{\s*(.*?)\s*\}\}/g, (_, expression: string) => value(expression));

test("ids and names are unique, every connection leads from a node to a node, none is left alone", () => {
  const names = workflow.nodes.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(workflow.nodes.map(({ id }) => id)).size).toBe(names.length);
  const ends = Object.values(workflow.connections).flatMap(({ main }) => main.flat().map(({ node }) => node));
  expect(names).toEqual(expect.arrayContaining([...Object.keys(workflow.connections), ...ends]));
  expect([...new Set([...Object.keys(workflow.connections), ...ends])].sort()).toEqual([...names].sort());
  for (const { type } of workflow.nodes) expect(type).toMatch(/^n8n-nodes-base\.\w+$/);
});

test("its HTTP nodes ask for routes that exist, with bodies that are accepted", async () => {
  const { request } = await testApp({ respond: null });
  const asked = workflow.nodes.filter(({ type }) => type === "n8n-nodes-base.httpRequest");
  expect(asked).toHaveLength(2);
  for (const { name, parameters } of asked) {
    const url = filled(String(parameters.url), (expression) =>
      expression === "$json.lull" ? "http://127.0.0.1:8080" : "TOKEN",
    );
    const { pathname, searchParams } = new URL(url);
    const operation = operations.find(
      ({ method, path }) =>
        method === parameters.method?.toLowerCase() &&
        new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`).test(pathname),
    );
    expect(operation, name).toBeDefined();
    for (const query of searchParams.keys()) expect(Object.keys(operation?.query ?? {}), name).toContain(query);
    // The expression itself, as n8n would evaluate it.
    const expression = /^=\{\{(.*)\}\}$/s.exec(String(parameters.jsonBody))?.[1];
    const evaluate = new Function("$json", `return (${expression});`) as (json: object) => string;
    const body = evaluate({ text: "hi", body: { conversation: "c", id: "m1", text: "hi" } });
    const response = await request("POST", pathname, JSON.parse(body));
    // The token is none; everything before it was in order.
    expect([name, response.status]).toEqual([name, pathname.startsWith("/v1/turns") ? 403 : 202]);
  }
});
