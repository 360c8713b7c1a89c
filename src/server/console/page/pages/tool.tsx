import { useSignal } from "@preact/signals";
import { getJson, messageOf, pathTo, sendJson } from "../api.ts";
import { isAdmin } from "../caller.ts";
import { CallForm } from "../call-form.tsx";
import {
  announce,
  Badge,
  Card,
  Figure,
  JsonView,
  Notice,
  Outcome,
  Table,
  Tags,
  useLoaded,
  When,
} from "../elements.tsx";
import { ExplanationCards } from "../explanation-cards.tsx";
import { formatBytes, formatMs, formatTime, plural } from "../format.ts";
import { addressOf, go, has, route } from "../router.ts";
import { quarantined } from "../stats.ts";
import { loadTools, tools } from "../tools.ts";
import type { CallPage, CallSummary, Explanation, Json, ToolInfo } from "../wire.ts";
import { Asked } from "./asked.tsx";

/** One tool: its description, grants and limits, its last calls, and a form to call it. */
export function Page({ name }: { name: string }) {
  const tool = tools.value?.find((one) => one.name === name);
  if (tool !== undefined) return <Tool key={JSON.stringify(tool)} tool={tool} />;
  return (
    <div class="stack">
      <h1 tabIndex={-1}>{name}</h1>
      {tools.value !== null && <Notice>There is no tool of this name.</Notice>}
    </div>
  );
}

function Tool({ tool }: { tool: ToolInfo }) {
  const { name, inputSchema, examples = [] } = tool;
  const explained = useLoaded((signal) => getJson<Explanation>(pathTo`/v1/tools/${name}/explanation`, signal), [name]);
  const isQuarantined = quarantined.value.has(name);
  return (
    <div class="stack">
      <Header {...tool} />
      {isQuarantined && (
        <Notice>
          This tool is in quarantine: it ended an executor, and runs in a process of its own until enough calls went
          well. Calls may be refused.
        </Notice>
      )}
      <CallForm
        tool={name}
        schema={inputSchema}
        examples={examples.map(({ input }) => input as Json)}
        from={route.value.query["from"]}
      />
      <div class="columns">
        {explained.kind === "failed" ? (
          <Card heading="What it may do">
            <Notice>{explained.message}</Notice>
          </Card>
        ) : (
          <When loaded={explained}>{(explanation) => <ExplanationCards {...explanation} />}</When>
        )}
      </div>
      {has("calls") && <LastCalls tool={name} />}
      <Schemas {...tool} />
      <NodeNames {...tool} />
      {isAdmin() && name.startsWith("snippets.") && <Delete {...tool} />}
    </div>
  );
}

function Header({ name, description, version, contract, isolation, isolationReason, tags, script }: ToolInfo) {
  return (
    <header class="stack tight">
      <h1 tabIndex={-1}>
        {name} <span class="muted version">{version}</span>
      </h1>
      <p class="lead">{description}</p>
      <div class="row">
        <Badge text={contract} title="The contract of its module" />
        <Badge
          text={isolation}
          tone={isolationReason === undefined ? "plain" : "warn"}
          title={isolationReason ?? "Isolation: what each call gets of its own"}
        />
        <Tags tags={tags} />
        <span class="muted">{`${formatBytes(script.bytes)}, evaluated in ${formatMs(script.evaluationMs)}`}</span>
      </div>
    </header>
  );
}

/** Calls included in the times, and the displayed ones of them. */
const CALLS_READ = 200;
const CALLS_SHOWN = 20;

/** The tool's last calls, if the server keeps calls and shows them to the key. */
function LastCalls({ tool }: { tool: string }) {
  const path = pathTo`/v1/calls?limit=${`${CALLS_READ}`}&tool=${tool}`;
  const loaded = useLoaded((signal) => getJson<CallPage>(path, signal), [path]);
  if (loaded.kind !== "ready" || loaded.value.calls.length === 0) return null;
  const { calls } = loaded.value;
  const rowOf = ({ id, beginMs, code, tenant, wallMs }: CallSummary) => [
    <a href={addressOf("calls", id)}>{formatTime(beginMs)}</a>,
    <Outcome code={code} />,
    formatMs(wallMs),
    tenant === "" ? "—" : tenant,
    <a href={addressOf("tools", tool, { from: id })} aria-label={`Run again: the call of ${formatTime(beginMs)}`}>
      Run again
    </a>,
  ];
  return (
    <Card heading="Last calls">
      <Times calls={calls.filter(({ attempts }) => attempts > 0)} />
      <Table
        label="Last calls"
        heads={["Time", "Outcome", "Took", "Tenant", "Again"]}
        items={calls.slice(0, CALLS_SHOWN)}
        row={rowOf}
      />
      <p>
        <a href={addressOf("calls", null, { tool })}>All calls of {tool}</a>
      </p>
    </Card>
  );
}

/** Durations of calls. A call that represents others has their weight. */
function Times({ calls }: { calls: readonly CallSummary[] }) {
  if (calls.length === 0) return null;
  const sorted = calls.toSorted((one, other) => one.wallMs - other.wallMs);
  const count = calls.reduce((sum, { sampled }) => sum + sampled, 0);
  const quantile = (share: number): string => {
    let left = share * count;
    return formatMs(sorted.find(({ sampled }) => (left -= sampled) <= 0)?.wallMs ?? 0);
  };
  return (
    <p>
      p50 <Figure>{quantile(0.5)}</Figure>, p99 <Figure>{quantile(0.99)}</Figure>{" "}
      <span class="muted">of the last {plural(count, "call")} that ran</span>
    </p>
  );
}

/** Names of Node that the tool uses; empty for a tool without any. */
function NodeNames({ node = [] }: ToolInfo) {
  if (node.length === 0) return null;
  const works = node.filter(({ instead }) => instead === undefined).map(({ name }) => name);
  const refused = node.filter(({ instead }) => instead !== undefined);
  return (
    <Card heading="Names of Node">
      {works.length > 0 && <p>{works.join(", ")}</p>}
      {refused.length > 0 && <h3>An isolate has not</h3>}
      {refused.length > 0 && (
        <ul class="plain-list">
          {refused.map(({ name, instead }) => (
            <li class="notice warn">
              <code>{name}</code> refuses when it is used: {instead}.
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Schemas({ inputSchema, outputSchema, inferredOutputSchema, parsesReason, wholeReason }: ToolInfo) {
  return (
    <Card heading="Schemas">
      <Schema name="Input" schema={inputSchema} />
      {inferredOutputSchema === undefined ? (
        <Schema name="Output" schema={outputSchema} />
      ) : (
        <Schema name="Output, as one was" schema={inferredOutputSchema} />
      )}
      {parsesReason !== undefined && (
        <p class="muted">Each call parses with the tool's own schemas, in the isolate: {parsesReason}.</p>
      )}
      {wholeReason !== undefined && <p class="muted">Each call evaluates the whole module: {wholeReason}.</p>}
    </Card>
  );
}

/** Deletes a snippet. */
function Delete({ name, tenant = "" }: ToolInfo) {
  const problem = useSignal("");
  const remove = async (): Promise<void> => {
    try {
      await sendJson("DELETE", pathTo`/v1/snippets/${name.slice("snippets.".length)}?tenant=${tenant}`);
      announce(`${name} is deleted`);
      go("#/tools");
      await loadTools();
    } catch (error) {
      problem.value = messageOf(error);
    }
  };
  return (
    <Card heading="Snippet">
      <Asked name="Delete it" question="Calls that have begun end on it." act={() => void remove()} />
      <p class="error" role="status">
        {problem}
      </p>
    </Card>
  );
}

function Schema({ name, schema }: { name: string; schema: ToolInfo["outputSchema"] }) {
  if (schema === null) return <p class="muted">{name}: whatever it gives.</p>;
  return (
    <details>
      <summary>{name}</summary>
      <JsonView label={`${name} schema`} value={schema} />
    </details>
  );
}
