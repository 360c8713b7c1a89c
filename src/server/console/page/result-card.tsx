import type { ComponentChildren } from "preact";
import { caller } from "./caller.ts";
import { getJson } from "./api.ts";
import { Badge, Figure, Notice, Outcome as Code, Part, Table, TextView, useLoaded, ValueView } from "./elements.tsx";
import { formatBytes, formatMs, plural } from "./format.ts";
import { addressOf, has } from "./router.ts";
import { type Outcome, type Run, useElapsed } from "./run.tsx";
import {
  type CapabilityCall,
  isRecord,
  listOf,
  type LogLine,
  recordOf,
  type Remedy,
  type ToolError,
  type ToolResult,
} from "./wire.ts";

/** Address of the remedies by error code, inserted when the page is bundled. */
declare const ADVICE: string;

interface ResultCardProps {
  readonly run: Run;
  /** Shown before the first call. */
  readonly hint?: string;
  /** The parts of an outcome to show, beside its error and its logs. */
  readonly partsOf?: (outcome: Outcome) => ComponentChildren;
  readonly class?: string;
}

const HINT = "Run the tool to see what it gives back, what it logs and what it costs.";
const HEADINGS = { idle: "Result", running: "Running", failed: "No result", ended: "Result" } as const;

/** Shows a call while it runs, and its result. */
export function ResultCard({ run, hint = HINT, partsOf = outputParts, class: look = "" }: ResultCardProps) {
  const state = run.state.value;
  return (
    <section class={`card result ${look}`} aria-labelledby="result-heading">
      <div class="stack" aria-busy={state.kind === "running"}>
        <h2 id="result-heading">{HEADINGS[state.kind]}</h2>
        {state.kind === "idle" && <p class="empty">{hint}</p>}
        {state.kind === "running" && <Running run={run} startedMs={state.startedMs} />}
        {state.kind === "failed" && <Notice tone="bad">{state.message}</Notice>}
        {state.kind === "ended" && <ResultView outcome={state} partsOf={partsOf} />}
      </div>
    </section>
  );
}

function Running({ run, startedMs }: { run: Run; startedMs: number }) {
  const elapsedMs = useElapsed(startedMs);
  const { progress = 0, total = 0, message } = run.progress.value ?? {};
  const share = total === 0 ? String(progress) : `${progress} of ${total}`;
  return (
    <>
      <div class="row">
        <Badge text="running" />
        <span class="figures muted">{formatMs(elapsedMs)}</span>
      </div>
      <progress
        aria-label="Progress of the call"
        {...(total > 0 ? { max: total, value: Math.min(progress, total) } : {})}
      />
      <p class="muted">{run.progress.value !== null && (message === undefined ? share : `${share}: ${message}`)}</p>
      {run.logs.value.length > 0 && <Logs lines={run.logs.value} />}
    </>
  );
}

interface ResultViewProps {
  readonly outcome: Outcome;
  readonly partsOf?: (outcome: Outcome) => ComponentChildren;
}

/** The outcome of a call. */
export function ResultView({ outcome, partsOf = outputParts }: ResultViewProps) {
  const { error, success, metadata } = outcome.result;
  const { attempts, callId, logs, truncated, wallMs } = metadata;
  return (
    <>
      <div class="row">
        <Code code={success ? "ok" : (error?.code ?? "failed")} />
        <Figure>{formatMs(wallMs)}</Figure>
        {attempts > 1 && <Badge text={plural(attempts, "attempt")} tone="warn" />}
        <CallLink callId={callId} error={error} />
      </div>
      {error !== null && <ErrorView error={error} />}
      {partsOf(outcome)}
      {logs.length > 0 && (
        <Part heading="Logs">
          <Logs lines={logs} />
          {(truncated?.logs ?? 0) > 0 && <p class="muted">{plural(truncated?.logs ?? 0, "more line")} had no room.</p>}
        </Part>
      )}
    </>
  );
}

/** A call that waits is not among the ended ones yet. */
function CallLink({ callId, error }: { callId: string; error: ToolError | null }) {
  const { id } = error?.code === "paused" ? recordOf(error.details) : {};
  if (typeof id === "string") return <a href={addressOf("approvals", id)}>Open the call, which waits</a>;
  const mayRead = has("calls") && caller.value?.roles.includes("calls") !== false;
  return mayRead ? <a href={addressOf("calls", callId)}>Open the call</a> : null;
}

function outputParts({ result, capabilities }: Outcome): ComponentChildren {
  return (
    <>
      {result.success && <ValueView label="Output" value={result.output} />}
      <Costs {...result.metadata} />
      {capabilities.length > 0 && <Capabilities calls={capabilities} />}
    </>
  );
}

/** An error, advice, and texts to paste. */
export function ErrorView({ error, onRemedy }: { error: ToolError; onRemedy?: (yaml: string) => void }) {
  const { code, type, message, retryable, details, remedies = [] } = error;
  const { stack, violations } = recordOf(details);
  const lines = listOf(violations).slice(0, 50);
  const loaded = useLoaded((signal) => getJson<Readonly<Record<string, string>>>(ADVICE, signal), []);
  const advice = loaded.kind === "ready" ? loaded.value[code] : undefined;
  return (
    <div class="notice bad stack">
      <p class="strong message">{lines.length > 0 ? type : `${type}: ${message.slice(0, 2_000)}`}</p>
      {lines.length > 0 && (
        <ul>
          {lines.map((line) => (
            <li>{isRecord(line) ? String(line["message"]) : ""}</li>
          ))}
        </ul>
      )}
      <p>{advice?.split("`").map((text, at) => (at % 2 === 0 ? text : <code>{text}</code>))}</p>
      {remedies.map((remedy) => (
        <RemedyView remedy={remedy} {...(onRemedy && { onRemedy })} />
      ))}
      {retryable && <p class="muted">The same call may succeed later.</p>}
      {typeof stack === "string" && (
        <details>
          <summary>Stack</summary>
          <TextView label="Stack" text={stack} />
        </details>
      )}
    </div>
  );
}

const PLACES: Readonly<Record<string, string>> = {
  config: "In the configuration",
  tool: "In the tool's definition",
  command: "Run",
};

function RemedyView({ remedy, onRemedy }: { remedy: Remedy; onRemedy?: (yaml: string) => void }) {
  const { kind, yaml, ts, command } = remedy;
  const place = PLACES[kind] ?? kind;
  return (
    <div class="stack tight">
      <p>{place}:</p>
      <TextView label={place} text={yaml ?? ts ?? command ?? ""} />
      {yaml !== undefined && onRemedy !== undefined && (
        <div>
          <button type="button" class="quiet small" onClick={() => onRemedy(yaml)}>
            Try it in the playground
          </button>
        </div>
      )}
    </div>
  );
}

/** The costs of a call. */
export type CostFigures = Pick<ToolResult["metadata"], "queueMs" | "wallMs" | "cpuMs" | "attempts"> & {
  readonly heapBytes?: number;
};

/** Queue and run time as one bar, and the other costs of a call. */
export function Costs({ queueMs, wallMs, cpuMs, heapBytes, attempts }: CostFigures) {
  const total = Math.max(queueMs + wallMs, 0.001);
  const cpu = Math.min(cpuMs, wallMs);
  const shares = { wait: queueMs, cpu, wall: wallMs - cpu };
  const cells = [
    ["Waited", formatMs(queueMs), "wait"],
    ["Took", formatMs(wallMs), "wall"],
    ["Processor", formatMs(cpuMs), "cpu"],
    ...(heapBytes === undefined ? [] : [["Heap", heapBytes === 0 ? "—" : formatBytes(heapBytes), ""] as const]),
    ["Attempts", String(attempts), ""],
  ] as const;
  return (
    <div class="stack tight">
      {attempts > 0 && (
        <div class="bar" aria-hidden="true">
          {Object.entries(shares).map(([name, ms]) => (
            <span class={name} style={{ width: `${(ms / total) * 100}%` }} />
          ))}
        </div>
      )}
      <dl class="facts">
        {cells.map(([name, value, key]) => (
          <div>
            <dt>
              {key !== "" && <span class={`key ${key}`} aria-hidden="true" />}
              {name}
            </dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function Capabilities({ calls }: { calls: readonly CapabilityCall[] }) {
  return (
    <Part heading="Asked of the host">
      <Table
        label="Asked of the host"
        heads={["Step", "What", "Outcome", "Time"]}
        items={calls}
        row={({ step, capability, method, outcome, durationMs }) => [
          step,
          `${capability}.${method}`,
          <Badge text={outcome} tone={outcome === "ok" || outcome === "replayed" ? "good" : "bad"} />,
          formatMs(durationMs),
        ]}
      />
    </Part>
  );
}

const LOGS_MAX = 5_000;

export function Logs({ lines }: { lines: readonly LogLine[] }) {
  return (
    <ol class="logs" tabIndex={0} aria-label="Logs">
      {lines.slice(0, LOGS_MAX).map(({ level, message }) => (
        <li class={level === "error" ? "bad" : level === "warn" ? "warn" : ""}>
          <span class="level">{level}</span>
          <span>{message}</span>
        </li>
      ))}
    </ol>
  );
}
