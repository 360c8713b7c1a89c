import { useEffect, useMemo } from "preact/hooks";
import { maySeeWaiting } from "../caller.ts";
import { type DurableCall, openApprovals, openOutcomes, undecided, WAITING } from "../durable-call.ts";
import { Badge, Card, Notice } from "../elements.tsx";
import { formatSpan, formatTime } from "../format.ts";
import { addressOf, route } from "../router.ts";
import { type FilterSet, Filters } from "./filters.tsx";
import { ListNews, ListTable } from "./list-table.tsx";
import { listAddress } from "./paged-list.ts";
import { wordsOf } from "./wait-words.ts";
import { WaitingList } from "./waiting-list.ts";

const STATES = ["paused", "ready", "running", "in_doubt", "ended"];
const FILTERS: FilterSet = {
  tool: { label: "Tool" },
  tenant: { label: "Tenant" },
  state: { label: "State", hint: STATES.join(", "), values: STATES },
};
const HEADS = ["Since", "Tool", "Waits for", "Ends in", "Tenant", "Message"];
/** Length of a message in a row. */
const MESSAGE_MAX = 200;

/** Calls that wait for a person, a signal or a time: the filters are in the address. */
export function Page() {
  const { tool = "", tenant = "", state = "" } = route.value.query;
  const key = JSON.stringify([tool, tenant, state]);
  const list = useMemo(() => {
    const given = Object.entries({ tool, tenant, state: state === "" ? WAITING : state });
    return new WaitingList(Object.fromEntries(given.filter(([, value]) => value !== "")));
  }, [key]);
  useEffect(() => {
    listAddress.value = { ...listAddress.value, approvals: location.hash };
    void list.open();
    return () => list.close();
  }, [list]);
  const cells = (call: DurableCall) => cellsOf(call, list.gone.value.has(call.id));
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Approvals</h1>
      {!maySeeWaiting() && <Notice>To see what waits, a key needs the role approve or calls.</Notice>}
      <Card heading="Filters">
        <Filters filters={FILTERS} none="None: all calls that wait are shown." />
      </Card>
      <Card heading="Calls that wait">
        <ListNews list={list} />
        <ListTable key={key} list={list} label="Calls that wait" heads={HEADS} cells={cells} page="approvals" />
      </Card>
    </div>
  );
}

function cellsOf(call: DurableCall, isGone: boolean) {
  const { id, createdAt, tenant, expiresAt, state } = call;
  const [approval] = openApprovals(call);
  const ends = approval?.expiresAt ?? expiresAt;
  const [doubt] = openOutcomes(call);
  const message = (approval?.message ?? doubt?.asked ?? "").slice(0, MESSAGE_MAX);
  return [
    <td>
      <a href={addressOf("approvals", id)}>{formatTime(createdAt)}</a>
    </td>,
    <td class="mono">{approval?.tool ?? call.tool}</td>,
    <td>
      {isGone ? (
        <Badge text="no longer" />
      ) : (
        <Badge text={wordsOf(call)} tone={undecided(call) > 0 ? "warn" : "plain"} />
      )}
    </td>,
    <td class="figures">{state === "ended" ? "—" : spanTo(ends)}</td>,
    <td>{tenant}</td>,
    <td title={message}>{message}</td>,
  ];
}

/** The time until then in its largest unit. */
function spanTo(time: string): string {
  return formatSpan(Math.max(0, Date.parse(time) - Date.now()))
    .split(" ", 2)
    .join(" ");
}
