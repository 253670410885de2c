/**
 * The timeline, drawn: lanes of bars and marks over an axis of time. What is in sight is chosen by wheel, drag, buttons and
 * keys; what one points at, or comes to by keyboard, is told by the page below it.
 *
 * @module
 */
import type { SVGAttributes } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { around, axisOf, type Drawn, densityOf, drawnOf, panned, recentOf, type Span, xOf, zoomed } from "./scale.ts";
import { Shape } from "./shapes.tsx";
import type { Item, Lane, Timeline, Tone } from "./timeline.ts";
import { clockTime, counted, dateTime, lasting } from "./words.ts";

const names: Record<Lane, string> = {
  people: "People",
  window: "Window",
  lease: "Lease",
  attempt: "Attempt",
  effect: "Effects",
  reply: "Reply",
  part: "Parts",
  operator: "Operators",
};

const rowHeight = 24;
const lanePad = 7;
const axisHeight = 26;
const stripHeight = 34;
/** Narrower than this, the lanes' names stand above them. */
const wideFrom = 640;

export interface TimelineViewProps {
  timeline: Timeline;
  now: number;
  /** Items of this entry are marked. */
  selected: number | null;
  onPoint: (items: Item[] | null) => void;
  onSelect: (item: Item) => void;
  /** The beginning is in sight, and there is more before it. */
  onOlder: (() => void) | null;
  /** Buttons beside those for zooming. */
  children?: preact.ComponentChildren;
}

export function TimelineView({ timeline, now, selected, onPoint, onSelect, onOlder, children }: TimelineViewProps) {
  const svg = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(0);
  /** Null: the newest turns, and on with them. */
  const [chosen, setChosen] = useState<Span | null>(null);
  const [at, setAt] = useState<string | null>(null);

  useLayoutEffect(() => {
    const node = svg.current?.parentElement;
    if (!node) return;
    const measure = () => setWidth(node.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    return () => observer.disconnect();
  }, []);

  const isLive = timeline.items.some((item) => item.open);
  const bounds = { from: timeline.start, to: Math.max(timeline.end, isLive ? now : 0) };
  const recent = useMemo(() => recentOf(timeline), [timeline]);
  const following = isLive ? { from: recent.from, to: Math.max(recent.to, now + (now - recent.from) * 0.08) } : recent;
  const span = chosen ?? following;

  const gutter = width >= wideFrom ? 92 : 0;
  const plot = Math.max(50, width - gutter - 12);
  const drawn = useMemo(() => drawnOf(timeline, span, plot), [timeline, span.from, span.to, plot]);
  const places = useMemo(() => placed(timeline, gutter === 0), [timeline, gutter === 0]);
  const height = places.height + axisHeight;

  // An entry that is pointed at comes in sight.
  useEffect(() => {
    if (selected === null) return;
    const item = timeline.items.find(({ seq }) => seq === selected);
    if (item === undefined || (item.start <= span.to && item.end >= span.from)) return;
    const turn = timeline.turns.findLast(({ start }) => start <= item.start);
    setChosen(
      turn && item.start <= turn.end ? around(turn.start, turn.end) : around(item.start - 5_000, item.end + 5_000),
    );
  }, [selected, timeline.items.length > 0]);

  useEffect(() => {
    if (onOlder !== null && span.from <= timeline.start) onOlder();
  }, [span.from <= timeline.start, timeline.start]);

  const zoom = (factor: number, x = plot / 2) =>
    setChosen((before) => {
      const now = before ?? span;
      return zoomed(now, factor, now.from + (x / plot) * (now.to - now.from), bounds);
    });
  const pan = (share: number) => setChosen((before) => panned(before ?? span, share, bounds));
  const all = () => setChosen(around(bounds.from, bounds.to));
  const turn = (step: 1 | -1) => {
    const { turns } = timeline;
    const middle = (span.from + span.to) / 2;
    const near = turns.findLastIndex(({ start }) => start <= middle);
    const next = turns[Math.min(turns.length - 1, Math.max(0, near + step))];
    if (next !== undefined) setChosen(around(next.start, next.end));
  };

  // Preact's own listeners are passive for wheels, and could not keep the page from scrolling.
  const wheel = useRef<(event: WheelEvent) => void>(() => {});
  wheel.current = (event) => {
    event.preventDefault();
    const box = svg.current?.getBoundingClientRect();
    if (!box) return;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      pan((event.deltaX || event.deltaY) / Math.max(200, plot));
    else zoom(1.0022 ** -event.deltaY, event.clientX - box.left - gutter);
  };
  useEffect(() => {
    const node = svg.current;
    const listen = (event: WheelEvent) => wheel.current(event);
    node?.addEventListener("wheel", listen, { passive: false });
    return () => node?.removeEventListener("wheel", listen);
  }, []);

  const drag = useRef<{ x: number; span: Span; moved: boolean } | null>(null);

  const focus = (key: string | undefined) => {
    if (key === undefined) return;
    setAt(key);
    requestAnimationFrame(() => svg.current?.querySelector<SVGElement>(`[data-key="${CSS.escape(key)}"]`)?.focus());
  };
  const onKey = (event: KeyboardEvent) => {
    const shown = sorted(drawn);
    const index = shown.findIndex(({ key }) => key === at);
    const current = shown[index];
    const actions: Record<string, () => void> = {
      "+": () => zoom(1.5),
      "=": () => zoom(1.5),
      "-": () => zoom(1 / 1.5),
      "0": all,
      "[": () => turn(-1),
      "]": () => turn(1),
      f: () => setChosen(null),
      ArrowLeft: () => (event.shiftKey ? pan(-0.2) : focus(beside(shown, index, -1)?.key)),
      ArrowRight: () => (event.shiftKey ? pan(0.2) : focus(beside(shown, index, 1)?.key)),
      ArrowUp: () => focus(nearest(shown, current, -1)?.key),
      ArrowDown: () => focus(nearest(shown, current, 1)?.key),
      Home: () => focus(shown[0]?.key),
      End: () => focus(shown.at(-1)?.key),
      Enter: () => {
        if (current) activate(current);
      },
      " ": () => {
        if (current) activate(current);
      },
    };
    const act = actions[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  };

  /** One item is selected; a group is looked into. */
  const activate = ({ items }: Drawn) => {
    const [first] = items;
    if (first === undefined) return;
    if (items.length === 1) return onSelect(first);
    setChosen(around(first.start, Math.max(...items.map((item) => item.end))));
  };

  const tabbed = drawn.some(({ key }) => key === at) ? at : sorted(drawn)[0]?.key;
  return (
    <div class="timeline">
      <div class="tools" role="toolbar" aria-label="Timeline">
        <button
          type="button"
          class="button icon"
          aria-label="Turn before"
          title="Turn before  ["
          onClick={() => turn(-1)}
        >
          ‹
        </button>
        <button type="button" class="button icon" aria-label="Turn after" title="Turn after  ]" onClick={() => turn(1)}>
          ›
        </button>
        <button type="button" class="button icon" aria-label="Zoom in" title="Zoom in  +" onClick={() => zoom(1.8)}>
          +
        </button>
        <button
          type="button"
          class="button icon"
          aria-label="Zoom out"
          title="Zoom out  −"
          onClick={() => zoom(1 / 1.8)}
        >
          −
        </button>
        <button
          type="button"
          class="button icon"
          aria-label="Earlier"
          title="Earlier  Shift ←"
          onClick={() => pan(-0.4)}
        >
          ←
        </button>
        <button type="button" class="button icon" aria-label="Later" title="Later  Shift →" onClick={() => pan(0.4)}>
          →
        </button>
        <button type="button" class="button" title="Everything loaded  0" onClick={all}>
          All
        </button>
        <button
          type="button"
          class="button"
          title="The newest turns, and on with them  f"
          aria-pressed={chosen === null}
          onClick={() => setChosen(null)}
        >
          Newest
        </button>
        <span class="soft span-words">
          {dateTime(span.from).slice(0, 10)}, {lasting(span.to - span.from)} in sight
        </span>
        <span class="tools-end">{children}</span>
      </div>
      <div class="plot">
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms */}
        <svg
          ref={svg}
          width={Math.max(1, width)}
          height={height}
          viewBox={`0 0 ${Math.max(1, width)} ${height}`}
          role="group"
          aria-label="Timeline. Arrow keys move between entries, plus and minus zoom, brackets go from turn to turn."
          onKeyDown={onKey}
          onPointerDown={(event) => {
            if (event.button === 0) drag.current = { x: event.clientX, span, moved: false };
          }}
          onPointerMove={(event) => {
            const { current } = drag;
            if (current === null) return;
            const by = event.clientX - current.x;
            if (!current.moved && Math.abs(by) < 4) return;
            if (!current.moved) event.currentTarget.setPointerCapture(event.pointerId);
            current.moved = true;
            setChosen(panned(current.span, -by / plot, bounds));
          }}
          onPointerUp={() => {
            // A click that ends a drag is none.
            setTimeout(() => {
              drag.current = null;
            }, 0);
          }}
          onPointerCancel={() => {
            drag.current = null;
          }}
          onPointerLeave={() => onPoint(null)}
        >
          <Patterns width={plot + 12} height={places.height} />
          <Axis span={span} gutter={gutter} plot={plot} height={height} />
          {places.lanes.map(({ lane, top, height, label }) => (
            <g key={lane}>
              <line class="lane-line" x1={0} x2={width} y1={top + height} y2={top + height} />
              <text class="lane-name" x={gutter === 0 ? 4 : 10} y={gutter === 0 ? label : top + lanePad + 16}>
                {names[lane]}
              </text>
            </g>
          ))}
          {now >= span.from && now <= span.to && isLive && (
            <line
              class="now"
              x1={gutter + xOf(now, span, plot)}
              x2={gutter + xOf(now, span, plot)}
              y1={0}
              y2={places.height}
            />
          )}
          <g transform={`translate(${gutter} 0)`} clip-path="url(#in-plot)">
            {drawn.map((one) => (
              <One
                key={one.key}
                one={one}
                span={span}
                plot={plot}
                now={now}
                y={(places.top.get(one.lane) ?? 0) + lanePad + one.row * rowHeight}
                room={roomFor(one, drawn, plot)}
                selected={selected !== null && one.items.some(({ seq }) => seq === selected)}
                tabbed={one.key === tabbed}
                onPoint={onPoint}
                onFocus={() => setAt(one.key)}
                onActivate={() => {
                  if (!drag.current?.moved) activate(one);
                }}
              />
            ))}
          </g>
        </svg>
      </div>
      <Strip timeline={timeline} bounds={bounds} span={span} width={width} onChoose={setChosen} />
    </div>
  );
}

interface Places {
  lanes: { lane: Lane; top: number; height: number; label: number }[];
  top: Map<Lane, number>;
  height: number;
}

/** Where each lane is. `above`: its name takes room above it. */
function placed({ rows }: Timeline, above: boolean): Places {
  const top = new Map<Lane, number>();
  let y = 0;
  const lanes = rows.map(({ lane, rows }) => {
    const name = above ? 13 : 0;
    const height = name + rows * rowHeight + 2 * lanePad;
    const place = { lane, top: y, height, label: y + 12 };
    top.set(lane, y + name);
    y += height;
    return place;
  });
  return { lanes, top, height: y };
}

/** In order of time, then of lanes. */
function sorted(drawn: readonly Drawn[]): Drawn[] {
  return [...drawn].sort((a, b) => a.x - b.x);
}

function beside(shown: Drawn[], index: number, step: 1 | -1): Drawn | undefined {
  return index < 0 ? shown[0] : shown[Math.min(shown.length - 1, Math.max(0, index + step))];
}

/** The nearest in the next lane that has one. */
function nearest(shown: Drawn[], from: Drawn | undefined, step: 1 | -1): Drawn | undefined {
  if (from === undefined) return shown[0];
  const order = Object.keys(names);
  for (let lane = order.indexOf(from.lane) + step; lane >= 0 && lane < order.length; lane += step) {
    const there = shown.filter((one) => one.lane === order[lane]);
    if (there.length > 0) return there.reduce((a, b) => (Math.abs(a.x - from.x) <= Math.abs(b.x - from.x) ? a : b));
  }
  return undefined;
}

/** Pixels until the next thing in the same row: how long a label beside a mark may be. */
function roomFor(one: Drawn, drawn: readonly Drawn[], plot: number): number {
  const end = one.x + one.width;
  let next = plot;
  for (const other of drawn)
    if (other !== one && other.lane === one.lane && other.row === one.row && other.x >= one.x && other.x < next)
      next = other.x;
  return next - end - 18;
}

/** As many characters as fit, at about 6.3 pixels each. */
function fitting(text: string, pixels: number): string {
  const most = Math.floor(pixels / 6.3);
  if (text.length <= most) return text;
  return most < 4 ? "" : `${text.slice(0, most - 1)}…`;
}

interface OneProps {
  one: Drawn;
  span: Span;
  plot: number;
  now: number;
  y: number;
  room: number;
  selected: boolean;
  tabbed: boolean;
  onPoint: (items: Item[] | null) => void;
  onFocus: () => void;
  onActivate: () => void;
}

function One({ one, span, plot, now, y, room, selected, tabbed, onPoint, onFocus, onActivate }: OneProps) {
  const [item] = one.items;
  if (item === undefined) return null;
  const isGroup = one.items.length > 1;
  const title = isGroup
    ? `${counted(one.items.length, "thing")} between ${clockTime(item.start)} and ${clockTime(one.items.at(-1)?.start ?? 0)}`
    : `${item.title}, at ${clockTime(item.start)}`;
  return (
    // biome-ignore lint/a11y/useSemanticElements: an SVG has no buttons
    <g
      class={`one ${isGroup ? "group" : `kind-${item.kind}`} tone-${one.tone}${selected ? " selected" : ""}`}
      data-key={one.key}
      data-kind={isGroup ? "group" : item.kind}
      data-tone={one.tone}
      role="button"
      tabIndex={tabbed ? 0 : -1}
      aria-label={title}
      onPointerEnter={() => onPoint(one.items)}
      onFocus={() => {
        onFocus();
        onPoint(one.items);
      }}
      onClick={onActivate}
      onKeyDown={() => {
        // The whole drawing listens.
      }}
    >
      {isGroup ? (
        <Group one={one} y={y} />
      ) : item.shape === "mark" ? (
        <Mark item={item} x={one.x} y={y} room={room} />
      ) : (
        <Bar item={item} span={span} plot={plot} now={now} y={y} room={room} />
      )}
    </g>
  );
}

function Group({ one, y }: { one: Drawn; y: number }) {
  const words = one.items.length > 999 ? "999+" : String(one.items.length);
  const width = Math.max(one.width + 2, 9 + words.length * 6);
  return (
    <>
      <rect class="shape" x={one.x - 4} y={y + 4} width={width} height={16} rx={8} />
      <Words class="count" x={one.x - 4 + width / 2} y={y + 15.5} text-anchor="middle">
        {words}
      </Words>
    </>
  );
}

function Mark({ item, x, y, room }: { item: Item; x: number; y: number; room: number }) {
  const words = item.text ?? item.label;
  const shown = fitting(words, room);
  return (
    <>
      <rect class="hit" x={x - 10} y={y} width={20} height={rowHeight} />
      <g transform={`translate(${round(x)} ${y + 12})`}>
        <Shape kind={item.kind} />
      </g>
      {shown !== "" && (
        <Words class={item.text === undefined ? "beside" : "beside said"} x={x + 11} y={y + 16}>
          {shown}
        </Words>
      )}
    </>
  );
}

/** Drawn words: what they say is in the name of what they belong to, whole. */
function Words(props: SVGAttributes<SVGTextElement>) {
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: an SVG's text takes no focus
  return <text {...props} aria-hidden="true" />;
}

interface BarProps {
  item: Item;
  span: Span;
  plot: number;
  now: number;
  y: number;
  room: number;
}

function Bar({ item, span, plot, now, y, room }: BarProps) {
  // Only what is in sight: browsers lose their patience with bars of a million pixels.
  const from = Math.max(-20, xOf(item.start, span, plot));
  const to = Math.min(plot + 20, xOf(item.open ? Math.max(item.end, now) : item.end, span, plot));
  const width = Math.max(3, to - from);
  const visible = Math.max(from, 0);
  return (
    <>
      <rect class="shape" x={round(from)} y={y + 3} width={round(width)} height={18} rx={5} />
      {item.tone === "warn" && (
        <rect class="hatch" x={round(from)} y={y + 3} width={round(width)} height={18} rx={5} fill="url(#hatch)" />
      )}
      {item.ticks.map((tick) => {
        const x = xOf(tick.at, span, plot);
        if (x < 0 || x > plot + 12 || width < 8) return null;
        const words = tick.kind === "input" ? "" : fitting(tick.name, plot - x);
        return (
          // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a group takes no focus
          <g key={`${tick.kind} ${tick.at}`} class={`tick tick-${tick.kind}`} aria-hidden="true">
            <title>{`${tick.name}: ${clockTime(tick.at)}`}</title>
            <line
              x1={round(x)}
              x2={round(x)}
              y1={y + (tick.kind === "input" ? 3 : -1)}
              y2={y + (tick.kind === "input" ? 8 : 25)}
            />
            {x > to + 4 && words !== "" && (
              <Words class="beside" x={x + 4} y={y + 16}>
                {words}
              </Words>
            )}
          </g>
        );
      })}
      {width < 26 && item.label.length * 6.3 > width ? (
        <Words class="beside" x={round(to + 6)} y={y + 16}>
          {fitting(item.label, Math.min(room, 170))}
        </Words>
      ) : (
        <Words class="within" x={round(visible + 6)} y={y + 16}>
          {fitting(item.label, Math.min(to, plot) - visible - 10)}
        </Words>
      )}
    </>
  );
}

const legend: [kind: string, shape: "bar" | "mark", tone: Tone, words: string][] = [
  ["message", "mark", "plain", "message"],
  ["commit", "mark", "good", "commit"],
  ["effect", "mark", "good", "effect"],
  ["expired", "mark", "bad", "crash found"],
  ["human", "mark", "human", "operator"],
  ["attempt", "bar", "good", "answered"],
  ["attempt", "bar", "warn", "discarded, tried again"],
  ["attempt", "bar", "bad", "lost, failed or in doubt"],
  ["attempt", "bar", "live", "going on"],
];

/** What shapes and looks mean. */
export function Legend() {
  return (
    <ul class="legend">
      {legend.map(([kind, shape, tone, words]) => (
        <li key={words}>
          <svg width="26" height="18" aria-hidden="true">
            <g class={`one kind-${kind} tone-${tone}`}>
              {shape === "mark" ? (
                <g transform="translate(13 9)">
                  <Shape kind={kind} />
                </g>
              ) : (
                <>
                  <rect class="shape" x="1" y="2" width="24" height="14" rx="4" />
                  {tone === "warn" && (
                    <rect class="hatch" x="1" y="2" width="24" height="14" rx="4" fill="url(#hatch)" />
                  )}
                </>
              )}
            </g>
          </svg>
          {words}
        </li>
      ))}
    </ul>
  );
}

function round(x: number): number {
  return Math.round(x * 10) / 10;
}

function Patterns({ width, height }: { width: number; height: number }) {
  return (
    <defs>
      <clipPath id="in-plot">
        <rect width={width} height={height} />
      </clipPath>
      <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <line class="hatch-line" x1="0" y1="0" x2="0" y2="6" />
      </pattern>
    </defs>
  );
}

function Axis({ span, gutter, plot, height }: { span: Span; gutter: number; plot: number; height: number }) {
  return (
    <g class="axis">
      {axisOf(span, plot).map(({ at, label }) => {
        const x = round(gutter + xOf(at, span, plot));
        return (
          <g key={at}>
            <line x1={x} x2={x} y1={0} y2={height - axisHeight} />
            <text x={Math.min(x, gutter + plot - 18)} y={height - 8} text-anchor="middle">
              {label}
            </text>
          </g>
        );
      })}
    </g>
  );
}

interface StripProps {
  timeline: Timeline;
  bounds: Span;
  span: Span;
  width: number;
  onChoose: (span: Span) => void;
}

/** All that is loaded in one strip, and what of it is in sight. A click goes there. */
function Strip({ timeline, bounds, span, width, onChoose }: StripProps) {
  const buckets = Math.max(20, Math.floor(width / 5));
  const density = useMemo(() => densityOf(timeline, bounds, buckets), [timeline, buckets]);
  const most = Math.max(1, ...density.map(({ count }) => count));
  const whole = around(bounds.from, bounds.to);
  const clamp = (x: number) => Math.min(width, Math.max(0, x));
  const from = clamp(xOf(span.from, whole, width));
  const to = clamp(xOf(span.to, whole, width));
  const step = xOf(bounds.to, whole, width) - xOf(bounds.from, whole, width);
  const first = xOf(bounds.from, whole, width);
  const choose = (event: PointerEvent) => {
    if (event.buttons !== 1) return;
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const middle = whole.from + ((event.clientX - box.left) / width) * (whole.to - whole.from);
    const half = (span.to - span.from) / 2;
    onChoose({ from: middle - half, to: middle + half });
  };
  return (
    // For pointers only: by keyboard, one pans and goes from turn to turn.
    <svg
      class="strip"
      width={Math.max(1, width)}
      height={stripHeight}
      aria-hidden="true"
      onPointerDown={choose}
      onPointerMove={choose}
    >
      {density.map(({ count, tone }, index) =>
        count === 0 ? null : (
          <rect
            key={index}
            class={`density tone-${tone}`}
            x={round(first + (index / buckets) * step)}
            width={Math.max(1, round(step / buckets) - 1)}
            y={stripHeight - 3 - (3 + 24 * (count / most))}
            height={3 + 24 * (count / most)}
          />
        ),
      )}
      <rect class="in-sight" x={from} y={1} width={Math.max(4, to - from)} height={stripHeight - 2} rx={4} />
    </svg>
  );
}
