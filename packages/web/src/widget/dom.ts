/**
 * Making nodes. Texts are only ever set as text.
 *
 * @module
 */

type Attributes = Record<string, string | boolean>;

/** An element with classes that are its parts, too: `bubble` can be styled from outside as `::part(bubble)`. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  names: string,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (names !== "") {
    element.className = names;
    element.setAttribute("part", names);
  }
  for (const [name, value] of Object.entries(attributes))
    if (value !== false) element.setAttribute(name, value === true ? "" : value);
  element.append(...children);
  return element;
}

const svg = "http://www.w3.org/2000/svg";

/** A line drawing of 24 by 24. */
export function icon(path: string): SVGSVGElement {
  const drawing = document.createElementNS(svg, "svg");
  drawing.setAttribute("viewBox", "0 0 24 24");
  drawing.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(svg, "path");
  line.setAttribute("d", path);
  drawing.append(line);
  return drawing;
}

export const icons = {
  chat: "M21 12a8 8 0 0 1-8 8H4l1.5-3.5A8 8 0 1 1 21 12z",
  close: "M6 6l12 12M18 6L6 18",
  send: "M4 12l16-8-5 16-3-7-8-1z",
};
