import { describe, expect, it } from "vitest";
import { visitorOf } from "../../../src/widget/access.ts";
import { piecesOf, safeHref } from "../../../src/widget/links.ts";
import { directionOf, languageNames, languageOf, stringsOf } from "../../../src/widget/strings.ts";

describe("links", () => {
  const links = (text: string) => piecesOf(text).filter(({ href }) => href !== null);

  it("are found in a text, and the pieces are the text", () => {
    const text = "See https://a.example/x?y=1 (or http://b.example/(c)), mail mailto:me@c.example. Bye!";
    expect(links(text).map(({ text: found }) => found)).toEqual([
      "https://a.example/x?y=1",
      "http://b.example/(c)",
      "mailto:me@c.example",
    ]);
    expect(
      piecesOf(text)
        .map(({ text: piece }) => piece)
        .join(""),
    ).toBe(text);
  });

  it("lead nowhere but to http, https and mailto", () => {
    for (const text of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "java\nscript:alert(1)",
      " javascript:alert(1)",
      "data:text/html,<script>alert(1)</script>",
      "vbscript:msgbox(1)",
      "file:///etc/passwd",
      "//a.example",
      "a.example",
      "http://",
    ]) {
      expect([text, links(text)]).toEqual([text, []]);
      expect([text, safeHref(text)]).toEqual([text, null]);
    }
    expect(safeHref("blob:https://a.example/x")).toBeNull();
  });

  it("hide no direction marks, quotes or tags", () => {
    for (const [text, found] of [
      ["https://a.example/\u202Egpj.exe", "https://a.example/"],
      ['https://a.example/"onmouseover=alert(1)', "https://a.example/"],
      ["https://a.example/<b>", "https://a.example/"],
    ] as const)
      expect(links(text).map(({ text: piece }) => piece)).toEqual([found]);
  });
});

describe("strings", () => {
  it("are complete in every language, and nobody's are left in English", () => {
    const english = stringsOf("en");
    expect(languageNames).toEqual(expect.arrayContaining(["en", "de", "es", "fr", "pt", "ar", "he", "ja", "zh"]));
    for (const language of languageNames) {
      const strings = stringsOf(language);
      expect(Object.keys(strings)).toEqual(Object.keys(english));
      const same = Object.entries(strings).filter(
        ([name, text]) => language !== "en" && name !== "title" && text === english[name as keyof typeof english],
      );
      // Words that two languages share.
      expect([language, same.filter(([, text]) => text !== "Conversation")]).toEqual([language, []]);
    }
  });

  it("are the nearest that is spoken, and the site's own come first", () => {
    expect(languageOf(["nl-NL", "pt-BR", "en"])).toBe("pt");
    expect(languageOf(["tlh"])).toBe("en");
    expect(stringsOf("de", { send: "Los" })).toMatchObject({ send: "Los", close: "Chat schließen" });
    expect([directionOf("ar"), directionOf("he"), directionOf("ja")]).toEqual(["rtl", "rtl", "ltr"]);
  });
});

it("the visitor is read from a token, or is nobody in particular", () => {
  const claims = Buffer.from(JSON.stringify({ sub: "ünï", bot: "shop" })).toString("base64url");
  expect(visitorOf(`x.${claims}.y`)).toBe(JSON.stringify(["ünï", "", "shop"]));
  for (const none of ["", "x", "x.y.z", `x.${Buffer.from("null").toString("base64url")}.y`])
    expect(visitorOf(none)).toBe(JSON.stringify(["", "", ""]));
});
