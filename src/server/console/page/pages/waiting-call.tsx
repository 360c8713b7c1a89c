import { useEffect, useMemo } from "preact/hooks";
import {
  type CallRun,
  type DoneEffect,
  type DurableCall,
  openApprovals,
  openOutcomes,
  type Wait,
} from "../durable-call.ts";
import { Badge, Card, Quiet, Table, TextView, ToolLink, When } from "../elements.tsx";
import { formatTime, plural, seen } from "../format.ts";
import { ResultView } from "../result-card.tsx";
import { addressOf } from "../router.ts";
import { ApprovalCard } from "./approval-card.tsx";
import { DoubtCard } from "./doubt-card.tsx";
import { FollowedCall } from "./followed-call.ts";
import { useRowKeys } from "./row-keys.ts";
import { UndoCard } from "./undo-card.tsx";
import { subjectOf, wordsOf } from "./wait-words.ts";
import { WaitActions } from "./wait-actions.tsx";

/** One call that waits or has waited: its open decisions, its waits, and its result. */
export function Page({ name: id }: { name: string }) {
  const followed = useMemo(() => new FollowedCall(id), [id]);
  useEffect(() => {
    void followed.open();
    return () => followed.close();
  }, [followed]);
  useRowKeys("approvals");
  const shown = followed.shown.value;
  return (
    <div class="stack">
      {shown.kind !== "ready" && <h1 tabIndex={-1}>Call {id}</h1>}
      <When loaded={shown}>{(call) => <Call call={call} followed={followed} />}</When>
    </div>
  );
}

function Call({ call, followed }: { call: DurableCall; followed: FollowedCall }) {
  const { id, tool, result } = call;
  const outcome = result && { body: { name: tool, arguments: {} }, result, capabilities: [] };
  return (
    <>
      <Header call={call} />
      <Newer followed={followed} />
      {openApprovals(call).map((wait, at) => (
        <ApprovalCard
          key={`${wait.step} ${wait.digest}`}
          call={call}
          wait={wait}
          followed={followed}
          isFirst={at === 0}
        />
      ))}
      {openOutcomes(call).map((wait, at) => (
        <DoubtCard
          key={`${wait.step} ${wait.openedAt}`}
          call={call}
          wait={wait}
          followed={followed}
          isFirst={at === 0}
        />
      ))}
      {outcome !== null && (
        <Card heading="Result">
          <ResultView outcome={outcome} />
        </Card>
      )}
      <Card heading="Waits">
        <Waits waits={call.waits} />
        <p class="muted">It has run {plural(call.legs, "time")}.</p>
      </Card>
      <Done call={call} />
      <WaitActions key={id} call={call} followed={followed} />
      <UndoCard key={`undo ${id}`} call={call} />
    </>
  );
}

function Header({ call }: { call: DurableCall }) {
  const { id, tool, tenant, key, createdAt, expiresAt, parentId, state } = call;
  const facts = [
    `made ${formatTime(createdAt)}`,
    tenant === "" ? "no tenant" : `tenant ${tenant}`,
    key === null ? "" : `key ${key}`,
    state === "ended" ? "" : `ends ${formatTime(expiresAt)} at the latest`,
  ];
  return (
    <header class="stack tight">
      <h1 tabIndex={-1}>
        Call of {tool} <span class="muted version mono">{id}</span>
      </h1>
      <div class="row">
        <Badge text={wordsOf(call)} tone={state === "paused" || state === "in_doubt" ? "warn" : "plain"} />
        {call.isStale === true && <Badge text="its tool is gone or another one now" tone="warn" />}
        <ToolLink name={tool} />
        <span class="muted">{facts.filter((fact) => fact !== "").join(", ")}</span>
        {parentId !== null && <a href={addressOf("approvals", parentId)}>The call that made it</a>}
      </div>
    </header>
  );
}

/** A notice that the displayed state is outdated. */
function Newer({ followed }: { followed: FollowedCall }) {
  const newer = followed.newer.value;
  return (
    <div role="status">
      {newer !== null && (
        <div class="notice warn row">
          The call has changed since it was shown: {wordsOf(newer)}.
          <Quiet onClick={() => followed.show(newer)}>Show what there is now</Quiet>
        </div>
      )}
    </div>
  );
}

const HEADS = ["Step", "What", "State", "Opened", "Expires", "Settled"];

function Waits({ waits }: { waits: readonly Wait[] }) {
  const rowOf = (wait: Wait) => [
    wait.step,
    wait.kind === "call" ? <a href={addressOf("approvals", wait.id)}>{subjectOf(wait)}</a> : subjectOf(wait),
    <Badge text={wait.state} tone={TONES[wait.state] ?? "plain"} />,
    formatTime(wait.openedAt),
    timeOrNone(wait.expiresAt),
    settlementOf(wait),
  ];
  return <Table label="Waits" heads={HEADS} items={waits} row={rowOf} empty="It has not waited." />;
}

const TONES: Readonly<Record<string, "good" | "warn" | "bad">> = {
  open: "warn",
  approved: "good",
  refused: "bad",
  expired: "bad",
  done: "good",
  failed: "bad",
  in_doubt: "bad",
  lost: "bad",
};

/** The effects of a call, its runs, and its program. */
function Done({ call: { effects, effectsOmitted = 0, runs, program = null } }: { call: DurableCall }) {
  // Absent after a decision, until the call is requested again.
  if (effects === undefined || runs === undefined) return null;
  return (
    <Card heading="What it has done">
      <Table
        label="What it has done"
        heads={["Step", "What", "State", "With", "Answered"]}
        items={effects}
        omitted={effectsOmitted}
        row={effectRow}
        empty="It has had no effects."
      />
      {runs.length > 0 && (
        <Table label="Runs" heads={["Run", "State", "Begun", "Ended", "By"]} items={runs} row={runRow} />
      )}
      {program !== null && <TextView label="Program" text={program} />}
    </Card>
  );
}

function effectRow({ step, tool, asked, state, httpMethod, target, arguments: args, answeredAt }: DoneEffect) {
  const subject = [httpMethod, target ?? args].filter((one) => one !== null).join(" ");
  return [
    step,
    tool ?? asked,
    <Badge text={state} tone={TONES[state] ?? "plain"} />,
    <span class="mono">{seen(subject.slice(0, 500))}</span>,
    timeOrNone(answeredAt),
  ];
}

function runRow({ number, outcome, begunAt, endedAt, holder }: CallRun) {
  const state = outcome ?? "running";
  return [
    number,
    <Badge text={state} tone={TONES[state] ?? "plain"} />,
    formatTime(begunAt),
    timeOrNone(endedAt),
    <span class="mono">{holder}</span>,
  ];
}

function timeOrNone(time: string | null): string {
  return time === null ? "—" : formatTime(time);
}

function settlementOf({ settled }: Wait): string {
  if (settled === null) return "—";
  const { at, by, actor, reason } = settled;
  const who = [actor, by === null ? null : `key ${by}`].filter((one) => one !== null).join(", ");
  return `${formatTime(at)}${who === "" ? "" : ` by ${who}`}${reason === null ? "" : `: ${reason.slice(0, 1_000)}`}`;
}
