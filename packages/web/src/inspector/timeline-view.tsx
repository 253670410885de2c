/**
 * The timeline, drawn: lanes of bars and marks over an axis of time. What is in sight is chosen by wheel, drag, buttons and
 * keys; what one points at, or comes to by keyboard, is told by the page below it.
 *
 * @module
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { around, axisOf, type Drawn, densityOf, drawnOf, panned, recentOf, type Span, xOf, zoomed } from "./scale.ts";
import { Shape } from "./shapes.tsx";
import type { Item, Lane, Timeline, Tone } from "./timeline/index.ts";
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
  const [chosen, setChosenNow] = useState<Span | null>(null);
  // Hundreds of things are drawn anew: a task of its own, behind the one of the click and before the one of the layout.
  const setChosen = (next: Parameters<typeof setChosenNow>[0]) => void setTimeout(() => setChosenNow(next), 0);
  const [reached, setAt] = useState<string | null>(null);

  useLayoutEffect(() => {
    const node = svg.current?.parentElement;
    if (!node) return;
    // It is told at once, after the layout that is due anyway.
    const observer = new ResizeObserver(() => setWidth(node.clientWidth));
    observer.observe(node);
    return () => observer.disconnect();
  }, []);

  const isLive = timeline.items.some((item) => item.open);
  const bounds = { from: timeline.start, to: Math.max(timeline.end, isLive ? now : 0) };
  const recent = useMemo(() => recentOf(timeline), [timeline]);
  const ahead = Math.min(soonest(timeline), now + mostAheadMs);
  const following = isLive
    ? {
        from: recent.from,
        to: Math.max(recent.to, now + (now - recent.from) * 0.08, ahead + (ahead - recent.from) * 0.16),
      }
    : recent;
  const span = chosen ?? following;

  const gutter = width >= wideFrom ? 92 : 0;
  const plot = Math.max(50, width - gutter - 12);
  const drawn = useMemo(() => drawnOf(timeline, span, plot), [timeline, span.from, span.to, plot]);
  const byKey = useMemo(() => new Map(drawn.map((one) => [one.key, one])), [drawn]);
  // One listener for all things: hundreds of them are made anew at every step of zooming.
  const thingAt = ({ target }: Event) =>
    byKey.get((target as Element).closest("[data-key]")?.getAttribute("data-key") ?? "");
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
    const key = thingAt(event)?.key ?? reached;
    const index = shown.findIndex((one) => one.key === key);
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

  const tabbed = drawn.some(({ key }) => key === reached) ? reached : sorted(drawn)[0]?.key;
  // What is the same is not drawn again: pointing at something must not cost a drawing of everything.
  const rooms = useMemo(() => roomsOf(drawn, plot), [drawn, plot]);
  const at = isLive ? now : 0;
  const things = useMemo(
    () =>
      drawn.map((one) => (
        <One
          key={one.key}
          one={one}
          span={span}
          plot={plot}
          now={at}
          y={(places.top.get(one.lane) ?? 0) + lanePad + one.row * rowHeight}
          room={rooms.get(one) ?? 0}
          selected={selected !== null && one.items.some(({ seq }) => seq === selected)}
          tabbed={one.key === tabbed}
        />
      )),
    [drawn, rooms, places, selected, tabbed, at],
  );

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
          {/* biome-ignore lint/a11y/noStaticElementInteractions: listens for the buttons in it */}
          <g
            transform={`translate(${gutter} 0)`}
            clip-path="url(#in-plot)"
            onPointerOver={(event) => {
              const one = thingAt(event);
              if (one !== undefined) onPoint(one.items);
            }}
            onFocusIn={(event) => {
              const one = thingAt(event);
              if (one === undefined) return;
              setAt(one.key);
              onPoint(one.items);
            }}
            onClick={(event) => {
              const one = thingAt(event);
              if (one !== undefined && !drag.current?.moved) activate(one);
            }}
            onKeyDown={() => {
              // The whole drawing listens.
            }}
          >
            {things}
          </g>
        </svg>
      </div>
      <Strip timeline={timeline} bounds={bounds} span={span} width={width} onChoose={setChosen} />
    </div>
  );
}

/** What is still to come is kept in sight, if it comes so soon. */
const mostAheadMs = 15_000;

/** The quiet target of the window that is open. */
function soonest({ items }: Timeline): number {
  const window = items.findLast((item) => item.kind === "window" && item.open);
  return window?.ticks.find(({ kind }) => kind === "quiet")?.at ?? Number.NEGATIVE_INFINITY;
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
function roomsOf(drawn: readonly Drawn[], plot: number): Map<Drawn, number> {
  const rooms = new Map<Drawn, number>();
  /** The one to the right, row by row. */
  const next = new Map<string, number>();
  for (const one of sorted(drawn).reverse()) {
    const row = `${one.lane} ${one.row}`;
    rooms.set(one, (next.get(row) ?? plot) - (one.x + one.width) - 18);
    next.set(row, one.x);
  }
  return rooms;
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
}

function One({ one, span, plot, now, y, room, selected, tabbed }: OneProps) {
  const [item] = one.items;
  if (item === undefined) return null;
  const isGroup = one.items.length > 1;
  const title = isGroup
    ? `${counted(one.items.length, "thing")} between ${clockTime(item.start)} and ${clockTime(one.items.at(-1)?.start ?? 0)}`
    : `${item.title}, at ${clockTime(item.start)}`;
  const bar = item.shape === "bar" && !isGroup ? edgesOf(item, span, plot, now) : null;
  const isMark = bar === null && !isGroup;
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: an SVG has no buttons */}
      <g
        class={`one ${isGroup ? "group" : `kind-${item.kind}`} tone-${one.tone}${selected ? " selected" : ""}`}
        data-key={one.key}
        data-kind={isGroup ? "group" : item.kind}
        role="button"
        // In lower case: names of an SVG's attributes are as they are written.
        tabindex={tabbed ? 0 : -1}
        aria-label={title}
        {...(isMark && { transform: `translate(${round(one.x)} ${y + 12})` })}
      >
        {isGroup ? (
          <rect class="shape" x={one.x - 4} y={y + 4} width={badgeWidth(one)} height={16} rx={8} />
        ) : bar === null ? (
          <>
            <rect class="hit" x={-10} y={-12} width={20} height={rowHeight} />
            <Shape kind={item.kind} />
          </>
        ) : (
          <Bar item={item} edges={bar} span={span} plot={plot} y={y} />
        )}
      </g>
      {/* Beside the button, whose name says all of it and whose words would be cut off. */}
      {wordsOf(one, item, bar, span, plot, room).map(({ x, text, look, middle }) => (
        <text key={look + x} class={look} x={round(x)} y={y + 16} {...(middle && { "text-anchor": "middle" })}>
          {text}
        </text>
      ))}
    </>
  );
}

function badgeWords({ items }: Drawn): string {
  return items.length > 999 ? "999+" : String(items.length);
}

function badgeWidth(one: Drawn): number {
  return Math.max(one.width + 2, 9 + badgeWords(one).length * 6);
}

/** Where a bar begins and ends, in pixels. */
interface Edges {
  from: number;
  to: number;
}

/** Only what is in sight: browsers lose their patience with bars of a million pixels. */
function edgesOf(item: Item, span: Span, plot: number, now: number): Edges {
  const from = Math.max(-20, xOf(item.start, span, plot));
  const to = Math.min(plot + 20, xOf(item.open ? Math.max(item.end, now) : item.end, span, plot));
  return { from, to: Math.max(from + 3, to) };
}

interface Words {
  x: number;
  text: string;
  look: string;
  middle?: true;
}

/** What is written in it, or beside it. */
function wordsOf(one: Drawn, item: Item, bar: Edges | null, span: Span, plot: number, room: number): Words[] {
  if (one.items.length > 1)
    return [{ x: one.x - 4 + badgeWidth(one) / 2, text: badgeWords(one), look: "count", middle: true }];
  const words: Words[] = [];
  if (bar === null) {
    const look = item.text === undefined ? "beside" : "beside said";
    words.push({ x: one.x + 11, text: fitting(item.text ?? item.label, room), look });
  } else {
    const visible = Math.max(bar.from, 0);
    const inside = fitting(item.label, Math.min(bar.to, plot) - visible - 10);
    if (bar.to - bar.from < 26 && inside !== item.label)
      words.push({ x: bar.to + 6, text: fitting(item.label, Math.min(room, 170)), look: "beside" });
    else words.push({ x: visible + 6, text: inside, look: "within" });
    // What is still to come is said where it will be.
    for (const tick of item.ticks) {
      const x = xOf(tick.at, span, plot);
      if (tick.kind !== "input" && x > bar.to + 4 && x < plot)
        words.push({ x: x + 4, text: fitting(tick.name, plot - x), look: "beside" });
    }
  }
  return words.filter(({ text }) => text !== "");
}

function Bar({ item, edges, span, plot, y }: { item: Item; edges: Edges; span: Span; plot: number; y: number }) {
  const x = round(edges.from);
  const width = round(edges.to - edges.from);
  return (
    <>
      <rect class="shape" x={x} y={y + 3} width={width} height={18} rx={5} />
      {item.tone === "warn" && (
        <rect class="hatch" x={x} y={y + 3} width={width} height={18} rx={5} fill="url(#hatch)" />
      )}
      {item.ticks.map((tick) => {
        const at = round(xOf(tick.at, span, plot));
        if (at < 0 || at > plot + 12 || width < 8) return null;
        const [top, bottom] = tick.kind === "input" ? [3, 8] : [-1, 25];
        return (
          <line
            key={`${tick.kind} ${tick.at}`}
            class={`tick tick-${tick.kind}`}
            x1={at}
            x2={at}
            y1={y + top}
            y2={y + bottom}
          />
        );
      })}
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
