/**
 * A list of rows of one height, of which only those in sight are in the page.
 *
 * @module
 */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface VirtualListProps {
  count: number;
  /** Pixels. */
  rowHeight: number;
  /** What a screen reader calls it. */
  label: string;
  class?: string;
  row: (index: number) => ComponentChildren;
  /** Called when other rows come in sight: first and last, inclusive. */
  onSight?: (first: number, last: number) => void;
  /** Scrolls this row into sight whenever it changes. */
  show?: number | null;
  /** Stays at the end while the end is in sight. */
  stick?: boolean;
}

/** Rows drawn beyond the edges. */
const beyond = 8;

export function VirtualList({ count, rowHeight, label, row, onSight, show, stick, ...rest }: VirtualListProps) {
  const box = useRef<HTMLElement>(null);
  const atEnd = useRef(stick === true);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);

  useLayoutEffect(() => {
    const node = box.current;
    if (node === null) return;
    // It is told at once, after the layout that is due anyway.
    const observer = new ResizeObserver(() => setHeight(node.clientHeight));
    observer.observe(node);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const node = box.current;
    if (node === null || show == null || show < 0) return;
    atEnd.current = false;
    const at = show * rowHeight;
    if (at < node.scrollTop || at + rowHeight > node.scrollTop + node.clientHeight)
      node.scrollTop = Math.max(0, at - node.clientHeight / 2);
  }, [show, rowHeight]);

  useLayoutEffect(() => {
    const node = box.current;
    if (node !== null && stick && atEnd.current) node.scrollTop = node.scrollHeight;
  }, [count, height, stick]);

  const first = Math.max(0, Math.floor(top / rowHeight) - beyond);
  const last = Math.min(count - 1, Math.ceil((top + height) / rowHeight) + beyond);
  useEffect(() => {
    if (count > 0) onSight?.(first, last);
  }, [first, last, count, onSight]);

  const rows = [];
  for (let index = first; index <= last; index++)
    rows.push(
      <li
        key={index}
        class="virtual-row"
        aria-setsize={count}
        aria-posinset={index + 1}
        style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
      >
        {row(index)}
      </li>,
    );

  return (
    <section
      ref={box}
      class={`virtual ${rest.class ?? ""}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={label}
      onScroll={({ currentTarget: node }) => {
        atEnd.current = node.scrollHeight - node.scrollTop - node.clientHeight < rowHeight;
        setTop(node.scrollTop);
      }}
    >
      <ul class="virtual-all" style={{ height: `${count * rowHeight}px` }}>
        {rows}
      </ul>
    </section>
  );
}
