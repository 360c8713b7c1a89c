import { useEffect, useMemo } from "preact/hooks";
import { Card, Outcome } from "../elements.tsx";
import { formatMs, formatTime } from "../format.ts";
import { addressOf, route } from "../router.ts";
import type { CallSummary } from "../wire.ts";
import { BulkReplay } from "./bulk-replay.tsx";
import { CallList, type FilterName, FILTERS } from "./call-list.ts";
import { type Filter, Filters } from "./filters.tsx";
import { ListNews, ListTable } from "./list-table.tsx";
import { listAddress } from "./paged-list.ts";
import { SavedViews } from "./saved-views.tsx";

const FORM: Readonly<Record<FilterName, Filter>> = {
  tool: { label: "Tool" },
  tenant: { label: "Tenant" },
  code: { label: "Outcome", hint: "ok, or a code such as tool_error" },
  since: { label: "Since", hint: "24h, 7d, or 2026-01-31" },
  until: { label: "Until", hint: "1h, or 2026-01-31" },
  text: { label: "Text of the error" },
  parent: { label: "Calls of the call" },
};
const HEADS = ["Time", "Tool", "Outcome", "Took", "Tenant", "Error"];

/** Past calls: the filters are in the address. */
export function Page() {
  const { query } = route.value;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query[name] ?? ""]));
  const key = JSON.stringify(filters);
  const list = useMemo(() => new CallList(filters), [key]);
  useEffect(() => {
    listAddress.value = { ...listAddress.value, calls: location.hash };
    void list.open();
    return () => list.close();
  }, [list]);
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Calls</h1>
      <Card heading="Filters">
        <Filters filters={FORM} none="None: all calls are shown." />
        <SavedViews address={addressOf("calls", null, filters)} />
      </Card>
      <Card heading="Past calls">
        <ListNews list={list} />
        <BulkReplay key={`replay ${key}`} calls={list.rows.value} />
        <ListTable key={key} list={list} label="Past calls" heads={HEADS} cells={cellsOf} page="calls" />
      </Card>
    </div>
  );
}

function cellsOf({ id, beginMs, tool, code, wallMs, tenant, error }: CallSummary) {
  return [
    <td>
      <a href={addressOf("calls", id)}>{formatTime(beginMs)}</a>
    </td>,
    <td class="mono">{tool}</td>,
    <td>
      <Outcome code={code} />
    </td>,
    <td class="figures">{formatMs(wallMs)}</td>,
    <td>{tenant}</td>,
    <td title={error ?? undefined}>{error}</td>,
  ];
}
