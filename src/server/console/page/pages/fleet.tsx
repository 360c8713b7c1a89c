import { Badge, Card, Figure, Notice, Table } from "../elements.tsx";
import { formatMs, plural } from "../format.ts";
import { last } from "../stats.ts";
import type { Fleet } from "../wire.ts";
import { FeedNotice } from "./feed-notice.tsx";

/** Silence after which a machine may be lost; machines send a heartbeat every second. */
const SILENT_MS = 3_000;

/** The worker machines of the server's fleet. */
export function Page() {
  const fleet = last.value?.executor.fleet;
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Fleet</h1>
      <FeedNotice />
      {last.value !== undefined && fleet === undefined && <p class="empty">This server has no fleet.</p>}
      {fleet !== undefined && (
        <Card heading="Machines">
          {fleet.problem !== null && <Notice>{`No calls run: ${fleet.problem}.`}</Notice>}
          <p>{summaryOf(fleet)}</p>
          {fleet.seen.length > 0 && <Machines fleet={fleet} />}
        </Card>
      )}
    </div>
  );
}

function summaryOf({ machines, slots, busySlots, waitingJobs, unlisted, unreadable }: Fleet): string {
  const parts = [
    `${plural(machines, "machine")} ${machines === 1 ? "takes" : "take"} calls`,
    `${busySlots} of ${plural(slots, "slot")} busy`,
    `${plural(waitingJobs, "job")} waiting`,
  ];
  if (unlisted > 0) parts.push(`${plural(unlisted, "machine")} not listed`);
  if (unreadable > 0) parts.push(`${plural(unreadable, "machine")} with another secret`);
  return `${parts.join(", ")}.`;
}

function Machines({ fleet: { seen } }: { fleet: Fleet }) {
  const rowOf = ({ id, host, state, slots, busySlots, protocols, isSandboxed, silentMs }: Fleet["seen"][number]) => [
    <span class="mono">{id}</span>,
    host ?? "—",
    <Badge text={state} tone={state === "ready" ? "good" : "warn"} />,
    <Figure>{`${busySlots} of ${slots}`}</Figure>,
    <Figure>{protocols.join(", ")}</Figure>,
    isSandboxed ? "sandbox" : <Badge text="no sandbox" tone="warn" />,
    silentMs < SILENT_MS ? "now" : <Badge text={`${formatMs(silentMs)} ago`} tone="warn" />,
  ];
  const heads = ["Machine", "Host", "State", "Busy slots", "Protocol", "Walls", "Heard"];
  return <Table label="Worker machines" heads={heads} items={seen} row={rowOf} />;
}
