import { Badge, Card, Figure, Table } from "./elements.tsx";
import { formatLimit } from "./format.ts";
import type { Explanation } from "./wire.ts";

const LIMITS: Readonly<Record<string, string>> = {
  queueMs: "Waiting for a start",
  cpuMs: "Processor time",
  wallMs: "Time from start to result",
  memoryMb: "Memory",
  inputBytes: "Arguments",
  outputBytes: "Output",
  logBytes: "Logs kept",
  capabilityCalls: "Requests to the host",
  capabilityBytes: "Data to and from the host",
};
const SOURCES: Readonly<Record<string, string>> = {
  default: "default",
  limits: "the engine's",
  tool: "the tool's own",
  maxLimits: "the ceiling",
};

/** A tool's grants, and their rules. */
export function Grants({ grants }: Pick<Explanation, "grants">) {
  if (grants.length === 0) return <p>Nothing but computation: no network, no files, no secrets.</p>;
  return (
    <ul class="plain-list">
      {grants.map(({ capability, granted, from }) => (
        <li>
          <span class="strong">{capability}</span> {granted} <span class="muted">{from}</span>
        </li>
      ))}
    </ul>
  );
}

/** Cards with a tool's grants, denied requests and limits. */
export function ExplanationCards({ grants, limits, findings }: Explanation) {
  return (
    <>
      <Card heading="What it may do">
        <Grants grants={grants} />
        {findings.length > 0 && (
          <>
            <h3>Denied requests</h3>
            <ul class="plain-list">
              {findings.map(({ pointer, reason, remediation }) => (
                <li class="notice warn">
                  <span class="strong">{sentence(reason)}</span>
                  <br />
                  {`To change that: ${remediation}. `}
                  <code>{pointer}</code>
                </li>
              ))}
            </ul>
          </>
        )}
      </Card>
      <Card heading="Limits of a call">
        <Table
          label="Limits of a call"
          heads={["Limit", "Value", "From"]}
          items={limits}
          row={({ limit, value, from }) => [
            LIMITS[limit] ?? limit,
            <Figure>{formatLimit(limit, value)}</Figure>,
            from === "default" ? <span class="muted">default</span> : <Badge text={SOURCES[from] ?? from} />,
          ]}
        />
      </Card>
    </>
  );
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
