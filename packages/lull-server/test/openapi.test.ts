import { describe, expect, test } from "vitest";
import { operations } from "../src/openapi.ts";
import { json, testApp } from "./support/app.ts";

/** For people, not for programs. */
const pages = /^\/$|^\/(inspector|playground|assets|widget)\b/;

describe("GET /openapi.json", () => {
  test("describes every route, and nothing else", async () => {
    const { app } = await testApp();
    const routes = app.routes
      .filter((route) => route.method !== "ALL" && !pages.test(route.path))
      .map((route) => `${route.method} ${route.path.replace(/:(\w+)/g, "{$1}")}`);
    const described = operations.map((operation) => `${operation.method.toUpperCase()} ${operation.path}`);
    expect([...new Set(routes)].sort()).toEqual([...described].sort());
  });

  test("is OpenAPI 3.1 whose references all resolve", async () => {
    const { request } = await testApp();
    const document = await json(await request("GET", "/openapi.json"));
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.info).toMatchObject({ title: "lull", version: expect.stringMatching(/^\d+\.\d+\.\d+/) });
    const text = JSON.stringify(document);
    for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g))
      expect(Object.keys(document.components.schemas)).toContain(name);
    expect(text).not.toContain("$schema");
    for (const [path, item] of Object.entries<
      Record<string, { parameters?: { in: string; name: string }[]; responses: object }>
    >(document.paths)) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      for (const operation of Object.values(item)) {
        expect(operation.parameters?.filter((item) => item.in === "path").map((item) => item.name) ?? []).toEqual(
          names,
        );
        expect(Object.keys(operation.responses)).toContain("default");
      }
    }
  });

  test("describes what validates", async () => {
    const { request } = await testApp({ flags: { maxParts: "7" } });
    const { components } = await json(await request("GET", "/openapi.json"));
    expect(components.schemas.Message).toMatchObject({
      type: "object",
      additionalProperties: false,
      required: ["conversation"],
    });
    expect(components.schemas.Message.properties.parts.maxItems).toBe(7);
    expect(Object.keys(components.schemas.Message.properties).sort()).toEqual([
      "address",
      "author",
      "conversation",
      "id",
      "incomplete",
      "metadata",
      "parts",
      "quietMs",
      "replyTo",
      "sentAt",
      "text",
    ]);
  });
});
