import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { headOf, mention, Notice, Quiet } from "../elements.tsx";
import { plural } from "../format.ts";
import { useKeys } from "../keys.tsx";
import { addressOf, go } from "../router.ts";
import type { PagedList } from "./paged-list.ts";

interface ListTableProps<Row extends { readonly id: string }> {
  readonly list: PagedList<Row>;
  readonly label: string;
  readonly heads: readonly string[];
  /** The cells of a row, the first with a link. */
  readonly cells: (row: Row) => readonly JSX.Element[];
  /** The page that shows one row. */
  readonly page: "calls" | "approvals";
}

/** The problem of a list, and the number of new rows: they are shown on demand. */
export function ListNews({ list }: { list: PagedList<{ readonly id: string }> }) {
  const { length } = list.fresh.value;
  useEffect(() => {
    if (length > 0) mention(plural(length, "new call"));
  }, [length]);
  return (
    <>
      {list.problem.value !== null && <Notice>{list.problem.value}</Notice>}
      {length > 0 && (
        <div>
          <Quiet onClick={() => list.showFresh()}>{length} new</Quiet>
        </div>
      )}
    </>
  );
}

/** Height of a row in pixels, as the style sheet has it. */
const ROW = 36;
/** Rows rendered above and below the visible ones. */
const SPARE = 10;

/** A table that renders only its visible rows. */
export function ListTable<Row extends { readonly id: string }>(props: ListTableProps<Row>) {
  const { list, label, heads, cells, page } = props;
  const box = useRef<HTMLDivElement>(null);
  const first = useSignal(0);
  const seen = useSignal(20);
  const at = useSignal(-1);
  const rows = list.rows.value;
  const look = (): void => {
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    first.value = Math.max(0, Math.floor(scrollTop / ROW) - SPARE);
    seen.value = Math.ceil(clientHeight / ROW) + 2 * SPARE;
    // Also after a failed request.
    void list.look(first.value, first.value + seen.value);
  };
  const end = first.value + seen.value;
  useEffect(look, []);
  useEffect(() => void list.look(first.value, end), [first.value, end, rows]);
  const move = (step: number): void => {
    if (rows.length === 0 || box.current === null) return;
    at.value = Math.min(rows.length - 1, Math.max(0, at.value + step));
    const { scrollTop, clientHeight } = box.current;
    const top = at.value * ROW;
    if (top < scrollTop) box.current.scrollTop = top;
    if (top + 2 * ROW > scrollTop + clientHeight) box.current.scrollTop = top + 2 * ROW - clientHeight;
    look();
    setTimeout(() => box.current?.querySelector<HTMLElement>(`[aria-rowindex="${at.value + 2}"] a`)?.focus());
  };
  const open = (): void => {
    const call = rows[at.value] ?? null;
    if (call !== null) go(addressOf(page, call.id));
  };
  useKeys({ j: ["Next row", () => move(1)], k: ["Row before", () => move(-1)], Enter: ["Open the row", open] });
  const shown = rows.slice(first.value, end);
  const below = Math.max(0, rows.length - end);
  return (
    <>
      <div class="call-box" tabIndex={0} role="group" aria-label={label} ref={box} onScroll={look}>
        <table class="call-table" aria-rowcount={list.isWhole.value ? rows.length + 1 : -1}>
          <caption class="unseen">{label}</caption>
          <thead>
            <tr aria-rowindex={1}>{heads.map(headOf)}</tr>
          </thead>
          <tbody>
            <Space rows={first.value} columns={heads.length} />
            {shown.map((row, index) => {
              const place = first.value + index;
              return (
                <tr key={place} aria-rowindex={place + 2} class={place === at.value ? "chosen-row" : undefined}>
                  {row === null ? <td colSpan={heads.length}>…</td> : cells(row)}
                </tr>
              );
            })}
            <Space rows={below} columns={heads.length} />
          </tbody>
        </table>
      </div>
      <p class="muted">
        {rows.length === 0 && list.isWhole.value && list.problem.value === null
          ? "No call matches."
          : `${plural(rows.length, "call")}${list.isWhole.value ? "" : ", and older ones"}`}
      </p>
    </>
  );
}

function Space({ rows, columns }: { rows: number; columns: number }) {
  return (
    <tr aria-hidden="true" class="space" style={{ height: `${rows * ROW}px` }}>
      <td colSpan={columns} />
    </tr>
  );
}
