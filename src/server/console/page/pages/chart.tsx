import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Table } from "../elements.tsx";
import { history, incidents } from "../stats.ts";
import type { Stats } from "../wire.ts";

/** One line of a chart. */
export interface Line {
  readonly label: string;
  /** Number of a line colour in the style sheet. */
  readonly colour: 1 | 2 | 3;
  /** Lengths of dashes and gaps in pixels. */
  readonly dash?: string;
  read(stats: Stats): number | null;
}

export interface ChartSpec {
  readonly heading: string;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** Minimum upper end of the axis, so that noise near zero stays invisible. */
  readonly leastMax: number;
  /** Allowed distances between two axis marks, ascending. Default: 1, 2.5 and 5 times a power of ten. */
  readonly steps?: readonly number[];
}

const SPAN_SECONDS = 120;
const ROWS_MAX = 10;
/** Maximum number of axis marks above zero. */
const MARKS_MAX = 4;

/** A live chart with its current values, and a table with the same data for accessibility. */
export function Chart({ spec }: { spec: ChartSpec }) {
  const { heading, lines, format } = spec;
  const id = useId();
  const latest = history.value.at(-1);
  const textOf = (line: Line, stats: Stats | undefined): string => {
    const value = stats === undefined ? null : line.read(stats);
    return value === null ? "—" : format(value);
  };
  const values = lines.map((line) => `${line.label} ${textOf(line, latest)}`).join(", ");
  return (
    <section class="card chart" aria-labelledby={id}>
      <div class="chart-head">
        <h2 id={id}>{heading}</h2>
        <dl class="legend">
          {lines.map((line) => (
            <div>
              <dt>
                <span class={`key line-${line.colour}${line.dash ? " dashed" : ""}`} aria-hidden="true" />
                {line.label}
              </dt>
              <dd class="figures">{textOf(line, latest)}</dd>
            </div>
          ))}
        </dl>
      </div>
      <div class="plot" role="img" aria-label={`${heading}: ${latest === undefined ? "no numbers yet" : values}`}>
        {latest !== undefined && <Plot {...spec} endMs={Date.parse(latest.time)} />}
      </div>
      <ChartTable spec={spec} textOf={textOf} />
    </section>
  );
}

/** The drawing: seconds from left to right, hundredths of the axis from top to bottom, stretched to the size of its box. */
function Plot({ lines, format, leastMax, steps, endMs }: ChartSpec & { readonly endMs: number }) {
  const drawn = lines.map((line) => ({ ...line, values: history.value.map((stats) => line.read(stats)) }));
  const max = drawn
    .flatMap(({ values }) => values)
    .reduce<number>((most, one) => Math.max(most, (one ?? 0) * 1.15), leastMax);
  const xOf = (time: string): number => SPAN_SECONDS - (endMs - Date.parse(time)) / 1_000;
  const yOf = (value: number): number => 100 - (value / max) * 100;
  const times = history.value.map(({ time }) => xOf(time));
  const step = stepOf(max, steps);
  const marks = Array.from({ length: Math.floor(max / step) + 1 }, (_, at) => at * step);
  return (
    <>
      <svg aria-hidden="true" viewBox={`0 0 ${SPAN_SECONDS} 100`} preserveAspectRatio="none">
        <path class="grid" d={marks.map((mark) => `M0 ${yOf(mark)}H${SPAN_SECONDS}`).join("")} />
        <path class="incident" d={incidents.value.map(({ time }) => `M${xOf(time)} 0V100`).join("")} />
        {drawn.map(({ colour, dash, values }) => (
          <path class={`line-${colour}`} stroke-dasharray={dash} d={lineOf(times, values, yOf)} />
        ))}
      </svg>
      {marks.map((mark) => (
        <span class="mark" style={{ top: `${yOf(mark)}%` }}>
          {format(mark)}
        </span>
      ))}
      <span class="from">{SPAN_SECONDS / 60} min ago</span>
      <span class="to">now</span>
    </>
  );
}

/** The path of a line. It restarts after a time without a value. */
function lineOf(times: readonly number[], values: readonly (number | null)[], yOf: (value: number) => number): string {
  return values
    .map((value, at) =>
      value === null
        ? ""
        : `${(values[at - 1] ?? null) === null ? "M" : "L"}${times[at]?.toFixed(2)} ${yOf(value).toFixed(2)}`,
    )
    .join("");
}

/** The least distance between two marks with which there are few. */
function stepOf(max: number, steps?: readonly number[]): number {
  const unit = 10 ** Math.floor(Math.log10(max));
  const allowed = steps ?? [0.25, 0.5, 1, 2.5].map((part) => part * unit);
  return allowed.find((step) => max / step <= MARKS_MAX) ?? max;
}

function ChartTable({ spec, textOf }: { spec: ChartSpec; textOf: (line: Line, stats: Stats) => string }) {
  const isOpen = useSignal(false);
  const { heading, lines } = spec;
  return (
    <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen.value && (
        <Table
          label={heading}
          heads={["Time", ...lines.map(({ label }) => label)]}
          items={history.value.slice(-ROWS_MAX).toReversed()}
          row={(stats) => [new Date(stats.time).toLocaleTimeString(), ...lines.map((line) => textOf(line, stats))]}
        />
      )}
    </details>
  );
}
