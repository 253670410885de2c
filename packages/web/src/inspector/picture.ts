/**
 * The timeline as a file of its own: an SVG that needs no style sheet, without what people wrote.
 *
 * @module
 */

/** What of a look a drawing needs to stand alone. */
const looks = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "opacity",
  "font-size",
  "font-weight",
  "font-family",
];

/** @param caption Below the drawing; nothing that names a person. */
export function pictureOf(svg: SVGSVGElement, caption: string): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [originals, copies] = [elementsOf(svg), elementsOf(copy)];
  for (const [index, element] of copies.entries()) {
    const original = originals[index];
    if (original === undefined) continue;
    const computed = getComputedStyle(original);
    for (const name of looks) {
      const value = computed.getPropertyValue(name);
      if (value !== "") element.setAttribute(name, value);
    }
    // Titles and labels quote messages.
    for (const name of ["class", "tabindex", "role", "aria-label", "data-key", "data-kind"])
      element.removeAttribute(name);
  }
  for (const [index, original] of originals.entries()) if (original.matches(".said, .hit")) copies[index]?.remove();

  const { width, height } = svg.viewBox.baseVal;
  const total = height + 26;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("viewBox", `0 0 ${width} ${total}`);
  copy.setAttribute("height", String(total));
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  paper.setAttribute("width", String(width));
  paper.setAttribute("height", String(total));
  paper.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(paper);
  const words = document.createElementNS("http://www.w3.org/2000/svg", "text");
  words.setAttribute("x", "10");
  words.setAttribute("y", String(height + 14));
  words.setAttribute("font-size", "11");
  words.setAttribute("font-family", "system-ui, sans-serif");
  words.setAttribute("fill", getComputedStyle(document.body).color);
  words.textContent = caption;
  copy.append(words);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

function elementsOf(svg: SVGSVGElement): Element[] {
  return [svg, ...svg.querySelectorAll("*")];
}
