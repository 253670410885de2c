/**
 * A chart over time, and the same numbers as a table for those who do not see it.
 *
 * @module
 */
import "uplot/dist/uPlot.min.css";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Chart } from "./figures.ts";
import { grouped } from "./words.ts";

const height = 170;
/** Rows of a table: the newest. */
const mostRows = 60;

export function ChartView({ chart, times }: { chart: Chart; times: number[] }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = [times, ...chart.lines.map(({ values }) => values)] as uPlot.AlignedData;

  useEffect(() => {
    const node = box.current;
    if (node === null) return;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(chart, node), data, node);
    };
    draw();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: node.clientWidth, height }));
    resized.observe(node);
    // A canvas does not follow the theme by itself.
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    return () => {
      resized.disconnect();
      dark.removeEventListener("change", draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [chart.id]);

  useEffect(() => plot.current?.setData(data), [times, chart]);

  return (
    <section class="card chart" aria-label={chart.title}>
      <h2>
        {chart.title} <span class="soft">{chart.unit}</span>
      </h2>
      <p class="soft">{chart.note}</p>
      <div ref={box} class="canvas" aria-hidden="true" />
      <ul class="legend" aria-hidden="true">
        {chart.lines.map((line) => (
          <li key={line.name}>
            <svg width="22" height="8" aria-hidden="true">
              <line
                x1="0"
                x2="22"
                y1="4"
                y2="4"
                stroke={`var(${line.color})`}
                stroke-width="2.5"
                stroke-dasharray={line.dash?.join(" ")}
              />
            </svg>
            {line.name}
          </li>
        ))}
      </ul>
      <details>
        <summary>As a table</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
        <section class="table" tabIndex={0} aria-label={`${chart.title}, as a table`}>
          <table>
            <thead>
              <tr>
                <th scope="col">From (UTC)</th>
                {chart.lines.map(({ name }) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times
                .map((time, index) => ({ time, index }))
                .slice(-mostRows)
                .reverse()
                .map(({ time, index }) => (
                  <tr key={time}>
                    <th scope="row">{new Date(time * 1_000).toISOString().slice(11, 19)}</th>
                    {chart.lines.map(({ name, values }) => {
                      const value = values[index];
                      return <td key={name}>{value === null || value === undefined ? "–" : grouped(value)}</td>;
                    })}
                  </tr>
                ))}
            </tbody>
          </table>
        </section>
      </details>
    </section>
  );
}

/** `14:05`, and the date where a day begins. */
function clock(seconds: number): string {
  const iso = new Date(seconds * 1_000).toISOString();
  return iso.slice(11, 16) === "00:00" ? iso.slice(5, 10) : iso.slice(11, seconds % 60 === 0 ? 16 : 19);
}

function optionsOf(chart: Chart, node: HTMLElement): uPlot.Options {
  const css = getComputedStyle(node);
  // Custom properties with light-dark() resolve only where they are used.
  const colorOf = (name: string) => {
    node.style.color = `var(${name})`;
    const { color } = getComputedStyle(node);
    node.style.color = "";
    return color;
  };
  const axis = {
    stroke: colorOf("--soft"),
    grid: { stroke: colorOf("--line"), width: 1 },
    ticks: { show: false },
    font: `11px ${css.fontFamily}`,
  };
  return {
    width: node.clientWidth,
    height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      { ...axis, values: (_, instants) => instants.map(clock) },
      { ...axis, size: 44 },
    ],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), "Etc/UTC"),
    series: [
      {},
      ...chart.lines.map(({ name, color, dash }) => ({
        label: name,
        stroke: colorOf(color),
        width: 2,
        ...(dash === undefined ? {} : { dash }),
        spanGaps: false,
        points: { size: 5 },
      })),
    ],
  };
}
