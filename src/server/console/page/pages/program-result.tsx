import { useRef } from "preact/hooks";
import { Bar, Figure, Outcome, Part, Quiet, ScrollBox, Table, ValueView, ToolLink } from "../elements.tsx";
import { formatMs } from "../format.ts";
import { Costs } from "../result-card.tsx";
import { addressOf, has } from "../router.ts";
import type { Outcome as RunOutcome } from "../run.tsx";
import { isRecord, listOf, recordOf, type ProgramCall, type ProgramProblem, type ToolResult } from "../wire.ts";

/** Maximum numbers of warnings and lines shown, and of characters in a line. */
const WARNINGS_MAX = 500;
const LINES_MAX = 2_000;
const LINE_CHARS_MAX = 1_000;

/** A program's run: its value, its calls as a waterfall beside its text, and its cost. */
export function ProgramParts({ body, result }: RunOutcome) {
  // The executed program: the text of the page may be edited meanwhile.
  const code = String(recordOf(body.arguments)["code"]);
  const { success, output, metadata } = result;
  const { calls = [], wallMs } = metadata;
  const text = useRef<HTMLDivElement>(null);
  const goTo = (line: number): void => text.current?.querySelector<HTMLElement>(`li:nth-child(${line})`)?.focus();
  return (
    <>
      {success && <Value output={output} />}
      <div class="columns">
        <Part heading="Calls of tools">
          <Waterfall calls={calls} totalMs={wallMs} goTo={goTo} />
        </Part>
        <div ref={text}>
          <ProgramText code={code} calling={new Set(calls.map(({ line }) => line))} />
        </div>
      </div>
      <Costs {...metadata} />
    </>
  );
}

/** The mistakes of a refused program. */
export function problemsIn({ error }: ToolResult): readonly ProgramProblem[] {
  const { problems } = recordOf(error?.details);
  return listOf(problems).flatMap((one) =>
    isRecord(one) && typeof one["line"] === "number" && typeof one["column"] === "number"
      ? [{ line: one["line"], column: one["column"], message: String(one["message"]) }]
      : [],
  );
}

function Value({ output }: { output: unknown }) {
  const { result, warnings, truncated } = isRecord(output) ? output : { result: output };
  const lines = listOf(warnings).slice(0, WARNINGS_MAX);
  return (
    <Part heading="Returned">
      <ValueView label="Returned" value={result} />
      {isRecord(truncated) && <p class="muted">This is a preview of {String(truncated["chars"])} characters.</p>}
      {lines.length > 0 && (
        <ul class="notice warn">
          {lines.map((line) => (
            <li>{String(line).slice(0, 2_000)}</li>
          ))}
        </ul>
      )}
    </Part>
  );
}

interface WaterfallProps {
  readonly calls: readonly ProgramCall[];
  readonly totalMs: number;
  readonly goTo: (line: number) => void;
}

/** The calls in the order of their start. The table has the facts of the bars in words. */
function Waterfall({ calls, totalMs, goTo }: WaterfallProps) {
  const endMs = calls.reduce((last, { startMs, wallMs }) => Math.max(last, startMs + wallMs), totalMs);
  const rowOf = ({ tool, line, startMs, wallMs, code, callId }: ProgramCall) => [
    <ToolLink name={tool} />,
    line === undefined ? (
      "unknown"
    ) : (
      <Quiet small onClick={() => goTo(line)}>
        <span class="unseen">Line </span>
        {line}
      </Quiet>
    ),
    <Figure>{formatMs(startMs)}</Figure>,
    <Figure>{formatMs(wallMs)}</Figure>,
    <Outcome code={code} />,
    <Bar
      atMs={startMs}
      ms={code === "unfinished" ? null : wallMs}
      endMs={endMs}
      kind={code === "ok" ? "ok" : "failed"}
    />,
    callId === undefined ? "none" : has("calls") ? <a href={addressOf("calls", callId)}>{callId}</a> : callId,
  ];
  const heads = ["Tool", "Line", "Start", "Took", "Outcome", "Timeline", "Call"];
  return <Table label="Calls of tools" heads={heads} items={calls} row={rowOf} empty="None." />;
}

/** The program's text with the numbers of its lines. */
function ProgramText({ code, calling }: { code: string; calling: ReadonlySet<number | undefined> }) {
  const lines = code.split("\n", LINES_MAX);
  const cut = lines.map((text) => (text.length > LINE_CHARS_MAX ? `${text.slice(0, LINE_CHARS_MAX)}…` : text));
  const length = lines.reduce((sum, text) => sum + text.length + 1, 0);
  return (
    <Part heading="The program">
      <ScrollBox label="The program" class="code-box">
        <ol class="program" aria-label="The program">
          {cut.map((text, at) => (
            <li tabIndex={-1} class={calling.has(at + 1) ? "calls" : undefined}>
              {text === "" ? " " : text}
            </li>
          ))}
        </ol>
      </ScrollBox>
      {length <= code.length && <p class="muted">The rest of the text is not shown.</p>}
    </Part>
  );
}
