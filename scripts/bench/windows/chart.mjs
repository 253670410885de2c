// Replies per turn against mean delay: who is below and to the left of the others is better. Plain SVG, no library.

const colours = ["#888888", "#555555", "#0b6e99", "#3aa76d", "#c77d0a", "#a33b8f", "#c0392b"];

/**
 * @param {{ title: string, series: { name: string, points: { x: number, y: number }[] }[] }[]} panels
 * @param {{ x: string, y: string }} labels
 */
export function chart(panels, labels) {
  const [width, height, left, top, bottom] = [400, 300, 52, 34, 44];
  const names = [...new Set(panels.flatMap(({ series }) => series.map(({ name }) => name)))];
  const legend = 24 + 18 * Math.ceil(names.length / 3);
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width * panels.length} ${height + legend}" font-family="sans-serif" font-size="11">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
  ];
  panels.forEach(({ title, series }, index) => {
    const all = series.flatMap(({ points }) => points);
    const [x0, x1] = [Math.min(...all.map(({ x }) => x)), Math.max(...all.map(({ x }) => x))];
    const y1 = Math.max(...all.map(({ y }) => y));
    const px = (/** @type {number} */ x) => index * width + left + ((x - x0) / (x1 - x0 || 1)) * (width - left - 16);
    const py = (/** @type {number} */ y) => top + (1 - y / y1) * (height - top - bottom);
    out.push(`<text x="${index * width + left}" y="18" font-size="13" font-weight="bold">${title}</text>`);
    for (let tick = 0; tick <= 4; tick += 1) {
      const [x, y] = [x0 + ((x1 - x0) * tick) / 4, (y1 * tick) / 4];
      out.push(
        `<line x1="${px(x0)}" x2="${px(x1)}" y1="${py(y).toFixed(1)}" y2="${py(y).toFixed(1)}" stroke="#eeeeee"/>`,
        `<text x="${px(x0) - 6}" y="${(py(y) + 4).toFixed(1)}" text-anchor="end">${y.toFixed(1)}</text>`,
        `<text x="${px(x).toFixed(1)}" y="${height - bottom + 16}" text-anchor="middle">${x.toFixed(2)}</text>`,
      );
    }
    out.push(
      `<text x="${index * width + (width + left) / 2}" y="${height - 10}" text-anchor="middle">${labels.x}</text>`,
      `<text transform="translate(${index * width + 14} ${(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle">${labels.y}</text>`,
    );
    for (const { name, points } of series) {
      const colour = colours[names.indexOf(name) % colours.length];
      const sorted = [...points].sort((a, b) => a.x - b.x);
      const path = sorted.map(({ x, y }) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`);
      out.push(`<polyline points="${path.join(" ")}" fill="none" stroke="${colour}" stroke-width="1.5"/>`);
      for (const point of path) {
        const [x, y] = point.split(",");
        out.push(`<circle cx="${x}" cy="${y}" r="2.5" fill="${colour}"/>`);
      }
    }
  });
  names.forEach((name, index) => {
    const [x, y] = [left + (index % 3) * 260, height + 14 + 18 * Math.floor(index / 3)];
    out.push(
      `<line x1="${x}" x2="${x + 20}" y1="${y - 4}" y2="${y - 4}" stroke="${colours[index % colours.length]}" stroke-width="2"/>`,
      `<text x="${x + 26}" y="${y}">${name}</text>`,
    );
  });
  out.push("</svg>");
  return `${out.join("\n")}\n`;
}
