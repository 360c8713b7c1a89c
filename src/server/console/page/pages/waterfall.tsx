import { Badge, Bar, Figure, headOf, Outcome, ScrollBox } from "../elements.tsx";
import { formatBytes, formatMs } from "../format.ts";
import { addressOf } from "../router.ts";
import type { CallSummary, StoredAsk, StoredCall } from "../wire.ts";

/** Turns within this time are one row. */
const MERGED_MS = 5;

/** A stretch of a call's time. Times in milliseconds since the call was accepted. */
export interface Row {
  readonly name: string;
  /** Style of its bar: `wait`, `ok`, `failed`, `turn`, or `replayed`. */
  readonly kind: string;
  readonly atMs: number;
  readonly ms: number;
  readonly outcome: string | null;
  readonly notes: readonly (readonly [name: string, value: string])[];
}

/** The rows of a call and of the calls that it made, in the order of their begin. */
export function rowsOf(call: StoredCall, children: readonly CallSummary[]): readonly Row[] {
  const { queueMs, wallMs, attempts, detail, code } = call;
  const waiting: Row = {
    name: "Waiting",
    kind: "wait",
    atMs: 0,
    ms: queueMs,
    outcome: attempts === 0 ? code : null,
    notes: [],
  };
  const turns = mergedTurns(detail?.turns ?? []);
  const firstMs = turns[0]?.atMs ?? queueMs;
  const starting = { name: "Starting", kind: "wait", atMs: queueMs, ms: firstMs - queueMs, outcome: null, notes: [] };
  const nested = children.map((child): Row => ({
    name: `Call of ${child.tool}`,
    kind: child.code === "ok" ? "ok" : "failed",
    atMs: Math.max(0, child.beginMs - call.beginMs),
    ms: child.queueMs + child.wallMs,
    outcome: child.code,
    notes: [["Call", child.id]],
  }));
  // A request for a call that was made is that call.
  const isCall = ({ capability, target }: StoredAsk): boolean =>
    capability === "tools" && children.some(({ tool }) => tool === target);
  const asks = (detail?.asks ?? []).filter((ask) => !isCall(ask)).map(askRow);
  const rows = [...turns, ...asks, ...nested].toSorted((a, b) => a.atMs - b.atMs);
  const running = rows.length > 0 || attempts === 0 ? rows : [runningRow(queueMs, wallMs, code)];
  return [waiting, ...(firstMs - queueMs >= 0.001 ? [starting] : []), ...running];
}

function runningRow(atMs: number, ms: number, code: string): Row {
  return { name: "Running", kind: code === "ok" ? "ok" : "failed", atMs, ms, outcome: code, notes: [] };
}

function askRow(ask: StoredAsk): Row {
  const { capability, method, httpMethod, target, outcome, code, rule } = ask;
  const { atMs, durationMs, bytes, attempt, isReplayed } = ask;
  return {
    name: `${capability}.${method}`,
    kind: isReplayed ? "replayed" : outcome === "ok" ? "ok" : "failed",
    atMs,
    ms: durationMs,
    outcome: isReplayed ? `${outcome}, replayed` : outcome,
    notes: [
      ["Target", [httpMethod, target ?? "unknown"].filter(Boolean).join(" ")],
      ["Rule", rule ?? "none grants it"],
      ...(code === null ? [] : [["Code", code] as const]),
      ["Data", formatBytes(bytes)],
      ["Attempt", String(attempt)],
    ],
  };
}

function mergedTurns(turns: NonNullable<StoredCall["detail"]>["turns"]): readonly Row[] {
  const rows: Row[] = [];
  for (const { atMs, cpuMs, attempt } of turns) {
    const before = rows.at(-1);
    const name = attempt > 1 ? `Computing, attempt ${attempt}` : "Computing";
    const endMs = atMs + cpuMs;
    if (before?.name === name && atMs - (before.atMs + before.ms) < MERGED_MS)
      rows[rows.length - 1] = { ...before, ms: endMs - before.atMs };
    else rows.push({ name, kind: "turn", atMs, ms: cpuMs, outcome: null, notes: [["Attempt", String(attempt)]] });
  }
  return rows;
}

interface WaterfallProps {
  readonly rows: readonly Row[];
  readonly chosen: number;
  readonly onChoose: (at: number) => void;
}

/** A call's steps with their times. The bars repeat the facts of the cells. */
export function Waterfall({ rows, chosen, onChoose }: WaterfallProps) {
  const endMs = rows.reduce((last, { atMs, ms }) => Math.max(last, atMs + ms), 0);
  return (
    <ScrollBox label="Timeline" class="table-box">
      <table>
        <caption class="unseen">Timeline</caption>
        <thead>
          <tr>{["What", "Outcome", "Start", "Took", "Timeline"].map(headOf)}</tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr class={at === chosen ? "chosen-row" : undefined}>
              <td>
                <button type="button" class="row-button" aria-pressed={at === chosen} onClick={() => onChoose(at)}>
                  {row.name}
                </button>
              </td>
              <td>{row.outcome !== null && <RowOutcome text={row.outcome} />}</td>
              <td>
                <Figure>{formatMs(row.atMs)}</Figure>
              </td>
              <td>
                <Figure>{formatMs(row.ms)}</Figure>
              </td>
              <td>
                <Bar atMs={row.atMs} ms={row.ms} endMs={endMs} kind={row.kind} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}

function RowOutcome({ text }: { text: string }) {
  return text.startsWith("ok") ? <Badge text={text} tone="good" /> : <Outcome code={text} />;
}

/** The facts of one row. */
export function RowFacts({ row }: { row: Row }) {
  const facts = [...row.notes, ["Start", formatMs(row.atMs)], ["Took", formatMs(row.ms)]];
  return (
    <dl class="facts" aria-label={row.name}>
      {facts.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{name === "Call" ? <a href={addressOf("calls", value)}>{value}</a> : value}</dd>
        </div>
      ))}
    </dl>
  );
}
