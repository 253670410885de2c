// Reading TypeScript just well enough to check house rules, without a compiler.

/**
 * The same text with the content of comments, strings and regular expressions replaced by spaces. Offsets, lines and
 * quotes stay, and so does code inside `${…}`.
 */
export function blank(source: string): string {
  const out = source.split("");
  const templates: number[] = []; // for each open `${`, the depth of braces inside it
  let previous = ""; // the last significant character or word: tells division from a regular expression
  let at = 0;

  const erase = (from: number, to: number) => {
    for (let i = from; i < to && i < out.length; i++) if (out[i] !== "\n") out[i] = " ";
  };
  const template = () => {
    const from = at;
    while (at < source.length) {
      if (source[at] === "\\") at += 2;
      else if (source[at] === "`") {
        erase(from, at);
        at += 1;
        previous = "`";
        return;
      } else if (source.startsWith("${", at)) {
        erase(from, at);
        at += 2;
        templates.push(0);
        previous = "{";
        return;
      } else at += 1;
    }
    erase(from, at);
  };

  while (at < source.length) {
    const c = source.charAt(at);
    if (source.startsWith("//", at)) {
      const end = source.indexOf("\n", at);
      const to = end === -1 ? source.length : end;
      erase(at, to);
      at = to;
    } else if (source.startsWith("/*", at)) {
      const end = source.indexOf("*/", at + 2);
      const to = end === -1 ? source.length : end + 2;
      erase(at, to);
      at = to;
    } else if (c === '"' || c === "'") {
      const from = at + 1;
      at = from;
      while (at < source.length && source[at] !== c && source[at] !== "\n") at += source[at] === "\\" ? 2 : 1;
      erase(from, at);
      at += 1;
      previous = c;
    } else if (c === "`") {
      at += 1;
      template();
    } else if (c === "/" && startsRegExp(previous)) {
      const from = at + 1;
      at = from;
      for (let inClass = false; at < source.length && source[at] !== "\n"; at++) {
        if (source[at] === "\\") at += 1;
        else if (source[at] === "[") inClass = true;
        else if (source[at] === "]") inClass = false;
        else if (source[at] === "/" && !inClass) break;
      }
      erase(from, at);
      at += 1;
      previous = ")";
    } else if (/[\w$]/.test(c)) {
      const from = at;
      while (at < source.length && /[\w$]/.test(source.charAt(at))) at += 1;
      previous = source.slice(from, at);
    } else {
      const depth = templates.at(-1);
      at += 1;
      if (!/\s/.test(c)) previous = c;
      if (depth !== undefined && c === "{") templates[templates.length - 1] = depth + 1;
      else if (depth !== undefined && c === "}") {
        if (depth > 0) templates[templates.length - 1] = depth - 1;
        else {
          templates.pop();
          template();
        }
      }
    }
  }
  return out.join("");
}

function startsRegExp(previous: string): boolean {
  if (/^(return|typeof|case|in|of|delete|void|throw|new|await|yield|else|do)$/.test(previous)) return true;
  return previous === "" || "(,=:[!&|?{};+-*%<>~^".includes(previous);
}

/** Every module specifier a source names: static, dynamic, type-only and re-exports alike. */
export function imports(source: string): string[] {
  const found: string[] = [];
  for (const match of blank(source).matchAll(/\b(?:from\s*|import\s*\(?\s*)(["'])( *)\1/g)) {
    const end = match.index + match[0].length - 1;
    found.push(source.slice(end - (match[2] ?? "").length, end));
  }
  return found;
}

/** Lines that hold code: neither blank nor only a comment. */
export function codeLines(source: string): number {
  const blanked = blank(source).split("\n");
  return blanked.filter((line) => line.trim() !== "").length;
}
