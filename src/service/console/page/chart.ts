import uPlot from "uplot";
import { fill, h, newId, table } from "./elements.ts";
import { onThemeChange } from "./theme.ts";
import type { Stats } from "./wire.ts";

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

/** A live chart with its current values, and a table with the same data for accessibility. */
export class Chart {
  readonly element: HTMLElement;
  readonly #spec: ChartSpec;
  readonly #box: HTMLElement;
  readonly #values: readonly HTMLElement[];
  readonly #details: HTMLDetailsElement;
  readonly #resize: ResizeObserver;
  readonly #leaveTheme: () => void;
  #plot: uPlot | null = null;
  #history: readonly Stats[] = [];

  constructor(spec: ChartSpec) {
    this.#spec = spec;
    this.#box = h("div", { class: "plot", role: "img", "aria-label": `${spec.heading}: no numbers yet` });
    this.#values = spec.lines.map(() => h("dd", { class: "figures" }, "—"));
    this.#details = h("details", { toggle: () => this.#showTable() }, h("summary", {}, "As a table"), h("div"));
    const legend = spec.lines.map((line, at) =>
      h(
        "div",
        {},
        h(
          "dt",
          {},
          h("span", { class: `key line-${line.colour}${line.dash ? " dashed" : ""}`, "aria-hidden": "true" }),
          line.label,
        ),
        this.#values[at] ?? null,
      ),
    );
    const id = newId();
    this.element = h(
      "section",
      { class: "card chart", "aria-labelledby": id },
      h("div", { class: "chart-head" }, h("h2", { id }, spec.heading), h("dl", { class: "legend" }, ...legend)),
      this.#box,
      this.#details,
    );
    this.#resize = new ResizeObserver(() => this.#plot?.setSize({ width: this.#box.clientWidth, height: HEIGHT }));
    this.#resize.observe(this.#box);
    this.#leaveTheme = onThemeChange(() => this.#draw());
  }

  update(history: readonly Stats[]): void {
    this.#history = history;
    const { lines, format, heading } = this.#spec;
    const last = history.at(-1);
    const texts = lines.map((line) => {
      const value = last === undefined ? null : line.read(last);
      return value === null ? "—" : format(value);
    });
    for (const [at, value] of this.#values.entries()) fill(value, texts[at] ?? "");
    this.#box.setAttribute(
      "aria-label",
      `${heading}: ${lines.map(({ label }, at) => `${label} ${texts[at] ?? ""}`).join(", ")}`,
    );
    this.#showTable();
    if (this.#plot === null) this.#draw();
    else this.#plot.setData(this.#data());
  }

  close(): void {
    this.#leaveTheme();
    this.#resize.disconnect();
    this.#plot?.destroy();
  }

  #showTable(): void {
    if (!this.#details.open) return;
    const { lines, format, heading } = this.#spec;
    const rows = this.#history
      .slice(-ROWS_MAX)
      .toReversed()
      .map((stats) => [
        new Date(stats.time).toLocaleTimeString(),
        ...lines.map((line) => {
          const value = line.read(stats);
          return value === null ? "—" : format(value);
        }),
      ]);
    const box = this.#details.lastElementChild;
    if (box !== null) fill(box, table(heading, ["Time", ...lines.map(({ label }) => label)], rows));
  }

  #data(): uPlot.AlignedData {
    const times = this.#history.map(({ time }) => Date.parse(time) / 1_000);
    return [times, ...this.#spec.lines.map((line) => this.#history.map((stats) => line.read(stats)))];
  }

  #draw(): void {
    this.#plot?.destroy();
    if (this.#history.length === 0 || this.#box.clientWidth === 0) return void (this.#plot = null);
    this.#plot = new uPlot(this.#options(), this.#data(), this.#box);
  }

  #options(): uPlot.Options {
    const { lines, leastMax, format, steps } = this.#spec;
    // A canvas cannot use CSS variables, so read the colours from styled elements.
    const { color, borderTopColor } = getComputedStyle(this.#box);
    const axis = { stroke: color, font: "11px system-ui, sans-serif", ticks: { show: false } };
    const grid = { stroke: borderTopColor, width: 1 };
    const strokes = [...this.element.querySelectorAll(".legend .key")].map(
      (key) => getComputedStyle(key).borderTopColor,
    );
    return {
      width: this.#box.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      padding: [8, 16, 0, 0],
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
}
