import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Card, headOf, mention, Notice, Outcome, Quiet } from "../elements.tsx";
import { formatMs, formatTime, plural } from "../format.ts";
import { useKeys } from "../keys.tsx";
import { addressOf, go, route, setQuery } from "../router.ts";
import { tools } from "../tools.ts";
import type { CallSummary } from "../wire.ts";
import { BulkReplay } from "./bulk-replay.tsx";
import { CallList, type FilterName, FILTERS, listAddress } from "./call-list.ts";
import { SavedViews } from "./saved-views.tsx";

const NAMES: Readonly<Record<FilterName, string>> = {
  tool: "Tool",
  tenant: "Tenant",
  code: "Outcome",
  since: "Since",
  until: "Until",
  text: "Text of the error",
  parent: "Calls of the call",
};
const HINTS: Readonly<Partial<Record<FilterName, string>>> = {
  code: "ok, or a code such as tool_error",
  since: "24h, 7d, or 2026-01-31",
  until: "1h, or 2026-01-31",
};

/** Past calls: the filters are in the address. */
export function Page() {
  const { query } = route.value;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query[name] ?? ""]));
  const key = JSON.stringify(filters);
  const list = useMemo(() => new CallList(filters), [key]);
  useEffect(() => {
    listAddress.value = location.hash;
    void list.open();
    return () => list.close();
  }, [list]);
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Calls</h1>
      <Card heading="Filters">
        <Chips />
        <AddFilter />
        <SavedViews address={addressOf("calls", null, filters)} />
      </Card>
      <Card heading="Past calls">
        {list.problem.value !== null && <Notice>{list.problem.value}</Notice>}
        <Fresh list={list} />
        <BulkReplay key={`replay ${key}`} calls={list.rows.value} />
        <CallTable key={key} list={list} />
      </Card>
    </div>
  );
}

function Chips() {
  const { query } = route.value;
  const active = FILTERS.filter((name) => (query[name] ?? "") !== "");
  if (active.length === 0) return <p class="muted">None: all calls are shown.</p>;
  return (
    <ul class="chips" aria-label="Active filters">
      {active.map((name) => (
        <li class="chip">
          {NAMES[name]}: <span class="mono">{query[name]}</span>
          <button
            type="button"
            aria-label={`Remove the filter ${NAMES[name]}`}
            onClick={() => setQuery({ [name]: null })}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

function AddFilter() {
  const name = useSignal<FilterName>("tool");
  const value = useSignal("");
  const select = useRef<HTMLSelectElement>(null);
  useKeys({ f: ["Add a filter", () => select.current?.focus()] });
  const submit = (event: Event): void => {
    event.preventDefault();
    if (value.value.trim() === "") return;
    setQuery({ [name.value]: value.value.trim() });
    value.value = "";
  };
  const choices = name.value === "tool" ? (tools.value ?? []).slice(0, 500).map((tool) => tool.name) : [];
  return (
    <form class="row filter" onSubmit={submit}>
      <select
        ref={select}
        aria-label="Filter"
        value={name.value}
        onChange={(event) => (name.value = event.currentTarget.value as FilterName)}
      >
        {FILTERS.map((one) => (
          <option value={one}>{NAMES[one]}</option>
        ))}
      </select>
      <input
        aria-label="Value of the filter"
        autocomplete="off"
        spellcheck={false}
        list="filter-values"
        placeholder={HINTS[name.value]}
        value={value}
        onInput={(event) => (value.value = event.currentTarget.value)}
      />
      <datalist id="filter-values">
        {choices.map((choice) => (
          <option value={choice} />
        ))}
      </datalist>
      <button type="submit" class="quiet">
        Add
      </button>
    </form>
  );
}

/** Says how many calls have ended since the list was loaded, and shows them on demand. */
function Fresh({ list }: { list: CallList }) {
  const { length } = list.fresh.value;
  useEffect(() => {
    if (length > 0) mention(plural(length, "new call"));
  }, [length]);
  if (length === 0) return null;
  return (
    <div>
      <Quiet onClick={() => list.showFresh()}>{length} new</Quiet>
    </div>
  );
}

/** Height of a row in pixels, as the style sheet has it. */
const ROW = 36;
/** Rows drawn above and below those that can be seen. */
const SPARE = 10;
const HEADS = ["Time", "Tool", "Outcome", "Took", "Tenant", "Error"];

/** A table of which only those rows are drawn that can be seen. */
function CallTable({ list }: { list: CallList }) {
  const box = useRef<HTMLDivElement>(null);
  const first = useSignal(0);
  const seen = useSignal(20);
  const at = useSignal(-1);
  const rows = list.rows.value;
  const look = (): void => {
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    first.value = Math.max(0, Math.floor(scrollTop / ROW) - SPARE);
    seen.value = Math.ceil(clientHeight / ROW) + 2 * SPARE;
    // Also where the last request failed.
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
    if (call !== null) go(addressOf("calls", call.id));
  };
  useKeys({ j: ["Next row", () => move(1)], k: ["Row before", () => move(-1)], Enter: ["Open the row", open] });
  const shown = rows.slice(first.value, end);
  const below = Math.max(0, rows.length - end);
  return (
    <>
      <div class="call-box" tabIndex={0} role="group" aria-label="Past calls" ref={box} onScroll={look}>
        <table class="call-table" aria-rowcount={list.isWhole.value ? rows.length + 1 : -1}>
          <caption class="unseen">Past calls</caption>
          <thead>
            <tr aria-rowindex={1}>{HEADS.map(headOf)}</tr>
          </thead>
          <tbody>
            <Space rows={first.value} />
            {shown.map((call, index) => (
              <CallRow key={first.value + index} call={call} at={first.value + index} chosen={at.value} />
            ))}
            <Space rows={below} />
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

function Space({ rows }: { rows: number }) {
  return (
    <tr aria-hidden="true" class="space" style={{ height: `${rows * ROW}px` }}>
      <td colSpan={HEADS.length} />
    </tr>
  );
}

function CallRow({ call, at, chosen }: { call: CallSummary | null; at: number; chosen: number }) {
  if (call === null) {
    return (
      <tr aria-rowindex={at + 2}>
        <td colSpan={HEADS.length}>…</td>
      </tr>
    );
  }
  const { id, beginMs, tool, code, wallMs, tenant, error } = call;
  return (
    <tr aria-rowindex={at + 2} class={at === chosen ? "chosen-row" : undefined}>
      <td>
        <a href={addressOf("calls", id)}>{formatTime(beginMs)}</a>
      </td>
      <td class="mono">{tool}</td>
      <td>
        <Outcome code={code} />
      </td>
      <td class="figures">{formatMs(wallMs)}</td>
      <td>{tenant}</td>
      <td title={error ?? undefined}>{error}</td>
    </tr>
  );
}
