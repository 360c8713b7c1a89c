import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getJson, messageOf, pathTo, postJson } from "../api.ts";
import { maySeeWaiting } from "../caller.ts";
import type { DurablePage } from "../durable-call.ts";
import { announce, Badge, Card, type Loaded, Outcome, Quiet, settle, ToolLink, useLoaded, When } from "../elements.tsx";
import { formatTime, plural } from "../format.ts";
import { useKeys } from "../keys.tsx";
import { Costs } from "../result-card.tsx";
import { addressOf, go, route, setQuery } from "../router.ts";
import type { CallPage, CallSummary, Comparison, Replay, StoredCall } from "../wire.ts";
import { CallTabs } from "./call-tabs.tsx";
import { Differences } from "./differences.tsx";
import { useRowKeys } from "./row-keys.ts";
import { SaveSnippet } from "./save-snippet.tsx";
import { RowFacts, rowsOf, Waterfall } from "./waterfall.tsx";

/** One past call: its steps with their times, its arguments and its output. */
export function Page({ name: id }: { name: string }) {
  const loaded = useLoaded((signal) => getJson<StoredCall>(pathTo`/v1/calls/${id}`, signal), [id]);
  useRowKeys("calls");
  return (
    <div class="stack">
      {loaded.kind !== "ready" && <h1 tabIndex={-1}>Call {id}</h1>}
      <When loaded={loaded}>{(call) => ("waits" in call ? <Waiting id={id} /> : <Call call={call} />)}</When>
    </div>
  );
}

/** Leads to the page of calls that wait. */
function Waiting({ id }: { id: string }) {
  useEffect(() => location.replace(addressOf("approvals", id)), [id]);
  return null;
}

function Call({ call }: { call: StoredCall }) {
  const { id, tool, code, tenant, version, surface, key, beginMs, parentId, sampled } = call;
  const children = useLoaded((signal) => getJson<CallPage>(pathTo`/v1/calls?limit=200&parent=${id}`, signal), [id]);
  const nested = children.kind === "ready" ? children.value.calls : [];
  const facts = [
    formatTime(beginMs),
    version === null ? "" : `version ${version}`,
    tenant === "" ? "no tenant" : `tenant ${tenant}`,
    surface === "" ? "" : `from ${surface}`,
    key === null ? "" : `key ${key}`,
    sampled > 1 ? `stands for ${sampled} calls` : "",
  ];
  return (
    <>
      <header class="stack tight">
        <h1 tabIndex={-1}>
          Call of {tool} <span class="muted version mono">{id}</span>
        </h1>
        <div class="row">
          <Outcome code={code} />
          <ToolLink name={tool} />
          <span class="muted">{facts.filter((fact) => fact !== "").join(", ")}</span>
          {parentId !== null && <a href={addressOf("calls", parentId)}>The call that made it</a>}
          {maySeeWaiting() && <Waited id={id} tool={tool} />}
        </div>
      </header>
      <Actions call={call} />
      <SaveSnippet call={call} />
      <div class="panes">
        <Timeline call={call} nested={nested} />
        <CallTabs call={call} />
      </div>
    </>
  );
}

/** Link to the waits of the call, if they are kept and among the tool's last. */
function Waited({ id, tool }: Pick<StoredCall, "id" | "tool">) {
  const path = pathTo`/v1/calls?state=ended&values=false&tool=${tool}`;
  const loaded = useLoaded((signal) => getJson<DurablePage>(path, signal), [id]);
  const found = loaded.kind === "ready" ? loaded.value.calls.find(({ callId }) => callId === id) : undefined;
  return found === undefined ? null : <a href={addressOf("approvals", found.id)}>What it waited for</a>;
}

function Timeline({ call, nested }: { call: StoredCall; nested: readonly CallSummary[] }) {
  const rows = rowsOf(call, nested);
  const failed = rows.findIndex(({ kind, outcome }) => kind === "failed" && outcome === "denied");
  const chosen = useSignal<number | null>(null);
  const at = chosen.value ?? Math.max(0, failed);
  const row = rows[at];
  const omitted = call.detail?.asksOmitted ?? 0;
  return (
    <Card heading="Timeline">
      <Waterfall rows={rows} chosen={at} onChoose={(one) => (chosen.value = one)} />
      {row !== undefined && <RowFacts row={row} />}
      {omitted > 0 && <p class="muted">{plural(omitted, "more request")} not kept.</p>}
      {call.detail === null && <p class="muted">The requests of this call are not kept.</p>}
      <Costs {...call} />
    </Card>
  );
}

/** The differences between a call and another one, or its replay. */
interface Compared extends Comparison {
  readonly words: string;
  /** Id of the other call; `null`: the call's replay. */
  readonly other: string | null;
}

/** Replay, run again, compare. */
function Actions({ call: { id, tool, parentId, detail, beginMs } }: { call: StoredCall }) {
  const shown = useSignal<Loaded<Compared> | null>(null);
  const { with: other } = route.value.query;
  const show = async (comparing: Promise<Compared>): Promise<void> => {
    shown.value = { kind: "loading" };
    const next = await settle(comparing);
    shown.value = next;
    announce(next.kind === "ready" ? next.value.words : "That could not be done");
  };
  const replay = async (): Promise<Compared> => {
    const { verdict, differences } = await postJson<Replay>(pathTo`/v1/calls/${id}/replay`, {});
    return { words: `The replay is ${verdict}`, other: null, isSame: verdict === "same", differences };
  };
  const compare = async (than: string): Promise<Compared> => {
    const found = await getJson<Comparison>(pathTo`/v1/calls/${id}/comparison?with=${than}`);
    return { words: found.isSame ? "Both calls are the same" : "The calls differ", other: than, ...found };
  };
  const compareLast = async (): Promise<void> => {
    const { calls } = await getJson<CallPage>(pathTo`/v1/calls?limit=200&code=ok&until=${`${beginMs}`}&tool=${tool}`);
    // Calls of one millisecond are in the order in which they were kept: this one may have later ones before it.
    const own = calls.findIndex((call) => call.id === id);
    const found = own < 0 ? calls.find((call) => call.beginMs < beginMs) : calls[own + 1];
    if (found === undefined)
      shown.value = { kind: "failed", message: `There is no earlier call of ${tool} that went well.` };
    else setQuery({ with: found.id });
  };
  const diff = (): void =>
    void compareLast().catch((error: unknown) => (shown.value = { kind: "failed", message: messageOf(error) }));
  useEffect(() => void (other !== undefined && show(compare(other))), [id, other]);
  const edit = addressOf("tools", tool, { from: id });
  useKeys({
    r: ["Replay", () => void show(replay())],
    d: ["Compare with the tool's last good call", diff],
    p: [
      "The call that made it",
      () => (parentId === null ? announce("No call made it") : go(addressOf("calls", parentId))),
    ],
  });
  return (
    <>
      <div class="row">
        <Quiet
          disabled={detail?.isReplayable !== true || shown.value?.kind === "loading"}
          onClick={() => void show(replay())}
        >
          Replay
        </Quiet>
        <a class="button quiet" href={edit}>
          Run again with edits
        </a>
        <Quiet onClick={diff}>Compare with the last good call</Quiet>
        <a class="button quiet" href={addressOf("policy", null, { call: id })}>
          Try a policy
        </a>
        {detail?.isReplayable === false && <span class="muted">It cannot be replayed: its journal is not kept.</span>}
      </div>
      {shown.value !== null && (
        <Card heading="Comparison">
          {shown.value.kind === "loading" && <p class="muted">Comparing…</p>}
          <When loaded={shown.value}>{(compared) => <ComparisonView {...compared} />}</When>
        </Card>
      )}
    </>
  );
}

function ComparisonView({ isSame, words, other, differences }: Compared) {
  return (
    <>
      <p>
        <Badge text={isSame ? "same" : "different"} tone={isSame ? "good" : "warn"} /> {words}.{" "}
        {other !== null && <a href={addressOf("calls", other)}>The other call</a>}
      </p>
      <Differences differences={differences} heads={["This call", other === null ? "Its replay" : "The other call"]} />
    </>
  );
}
