import { signal, useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { Table } from "../elements.tsx";
import { history, incidents } from "../stats.ts";
import { isDark } from "../theme.tsx";
import type { Stats } from "../wire.ts";

/** One line of a chart. */
export interface Line {
  readonly label: string;
  /** Number of a line colour in the style sheet. */
  readonly colour: 1 | 2 | 3;
  readonly dash?: readonly number[];
  read(stats: Stats): number | null;
}

export interface ChartSpec {
  readonly heading: string;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** Minimum upper end of the axis, so that noise near zero looks like nothing. */
  readonly leastMax: number;
  /** Allowed distances between two axis marks. Default: chosen by the chart. */
  readonly steps?: readonly number[];
}

const HEIGHT = 150;
const SPAN_SECONDS = 120;
const ROWS_MAX = 10;

/** The library of charts, loaded when the first is drawn. */
const library = signal<typeof uPlot | null>(null);
let isAsked = false;

function loadLibrary(): void {
  if (isAsked) return;
  isAsked = true;
  import("uplot").then(
    (loaded) => (library.value = loaded.default),
    () => (isAsked = false),
  );
}

/** A live chart with its current values, and a table with the same data for accessibility. */
export function Chart({ spec }: { spec: ChartSpec }) {
  const { heading, lines, format } = spec;
  const id = useId();
  const card = useRef<HTMLElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = history.value.at(-1);
  const textOf = (line: Line, stats: Stats | undefined): string => {
    const value = stats === undefined ? null : line.read(stats);
    return value === null ? "—" : format(value);
  };
  const isEmpty = latest === undefined;
  useEffect(loadLibrary, []);
  useEffect(() => {
    const UPlot = library.value;
    if (UPlot === null || isEmpty || card.current === null || box.current === null) return;
    const made = new UPlot(optionsOf(spec, card.current, box.current), dataOf(spec), box.current);
    const resize = new ResizeObserver(([entry]) =>
      made.setSize({ width: entry?.contentRect.width ?? 0, height: HEIGHT }),
    );
    resize.observe(box.current);
    plot.current = made;
    return () => {
      plot.current = null;
      resize.disconnect();
      made.destroy();
    };
  }, [library.value, isEmpty, isDark.value]);
  useEffect(() => plot.current?.setData(dataOf(spec)), [history.value]);
  const values = lines.map((line) => `${line.label} ${textOf(line, latest)}`).join(", ");
  return (
    <section class="card chart" aria-labelledby={id} ref={card}>
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
      <div class="plot" role="img" aria-label={`${heading}: ${isEmpty ? "no numbers yet" : values}`} ref={box} />
      <ChartTable spec={spec} textOf={textOf} />
    </section>
  );
}

function ChartTable({ spec, textOf }: { spec: ChartSpec; textOf: (line: Line, stats: Stats) => string }) {
  const isOpen = useSignal(false);
  const { heading, lines } = spec;
  const rows = isOpen.value ? history.value.slice(-ROWS_MAX).toReversed() : [];
  return (
    <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen.value && (
        <Table
          label={heading}
          heads={["Time", ...lines.map(({ label }) => label)]}
          rows={rows.map((stats) => [
            new Date(stats.time).toLocaleTimeString(),
            ...lines.map((line) => textOf(line, stats)),
          ])}
        />
      )}
    </details>
  );
}

function dataOf({ lines }: ChartSpec): uPlot.AlignedData {
  const times = history.value.map(({ time }) => Date.parse(time) / 1_000);
  return [times, ...lines.map((line) => history.value.map((stats) => line.read(stats)))];
}

/** Draws a mark at each incident. */
function markIncidents(plot: uPlot): void {
  const { ctx } = plot;
  const { top, height, left, width } = plot.bbox;
  ctx.save();
  ctx.fillStyle = "#c2410c";
  for (const { time } of incidents.value) {
    const x = plot.valToPos(Date.parse(time) / 1_000, "x", true);
    if (x >= left && x <= left + width) ctx.fillRect(x - 1, top, 2, height);
  }
  ctx.restore();
}

function optionsOf(spec: ChartSpec, card: HTMLElement, box: HTMLElement): uPlot.Options {
  const { lines, leastMax, format, steps } = spec;
  // A canvas cannot use CSS variables, so read the colours from styled elements.
  const { color, borderTopColor } = getComputedStyle(box);
  const axis = { stroke: color, font: "11px system-ui, sans-serif", ticks: { show: false } };
  const grid = { stroke: borderTopColor, width: 1 };
  const strokes = [...card.querySelectorAll(".legend .key")].map((key) => getComputedStyle(key).borderTopColor);
  return {
    width: box.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 16, 0, 0],
    hooks: { draw: [markIncidents] },
    scales: {
      x: { range: (_plot, _min, max) => [max - SPAN_SECONDS, max] },
      y: { range: (_plot, _min, max) => [0, Math.max(leastMax, (max ?? 0) * 1.15)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        splits: (_plot, _axis, _min, max) => [max - SPAN_SECONDS / 2, max],
        values: () => [`${SPAN_SECONDS / 2} s ago`, "now"],
      },
      {
        ...axis,
        grid,
        size: 58,
        space: 34,
        ...(steps === undefined ? {} : { incrs: [...steps] }),
        values: (_plot, splits) => splits.map((value) => format(value)),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, dash }, at) => ({
        label,
        stroke: strokes[at] ?? color,
        width: 1.75,
        spanGaps: false,
        points: { show: false },
        ...(dash === undefined ? {} : { dash: [...dash] }),
      })),
    ],
  };
}
