import { formatNumber, type Report, type ScenarioReport } from "./report.ts";
import type { Row } from "./scenario.ts";
import { label, picture, rectangle } from "./svg.ts";

/** The scenario that the chart is about. */
const SCENARIO = "dispatch";

/** What of it is shown; the verb is what stands between a subject and its part of another's figure. */
const METRICS: readonly { readonly metric: string; readonly caption: string; readonly verb: string }[] = [
  { metric: "latency_us", caption: "One call after another, median time: shorter is better", verb: "takes" },
  { metric: "calls_per_second_c64", caption: "64 calls at once: longer is better", verb: "does" },
  { metric: "calls_per_second_c256", caption: "256 calls at once: longer is better", verb: "does" },
];

const WIDTH = 980;
const MARGIN = 24;
const BARS_X = 210;
/** The longest bar; what it stands for is written behind it. */
const BAR_WIDTH = 330;
const RATIOS_X = 640;
const RATIO_WIDTH = 160;
const BAR_HEIGHT = 12;
const LINE_HEIGHT = 15;
const GAP = 9;
const HEAD_HEIGHT = 76;
const CAPTION_HEIGHT = 34;
/** From the top of a line to where its letters stand. */
const BASELINE = 10.5;

/** Classes instead of variables: programs that draw SVG without a browser know no variables. */
const CSS = `
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 18px; font-weight: 600; }
.caption { font-size: 13px; font-weight: 600; }
.note, .faint { fill: #59636e; }
.ratio { text-anchor: end; }
.ground { fill: #ffffff; }
.own { fill: #0969da; }
.peer { fill: #8c959f; }
.busy { opacity: 0.55; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .note, .faint { fill: #9198a1; }
  .ground { fill: #0d1117; }
  .own { fill: #4493f8; }
  .peer { fill: #6e7681; }
}
`;

/** One figure of a subject, and how others compare with it. */
interface Bar {
  readonly state: string;
  readonly row: Row;
  /** By subject that compares itself with this one. */
  readonly ratios: ReadonlyMap<string, number>;
}

/** A metric: the bars of each subject, one for each state of the machine. */
interface Panel {
  readonly caption: string;
  readonly verb: string;
  readonly bars: ReadonlyMap<string, readonly Bar[]>;
  /** Subjects that compare themselves with others. */
  readonly comparing: readonly string[];
  readonly max: number;
}

/** The main comparison as a picture, for light and dark backgrounds; `null` where a report has nothing of it. */
export function renderChart(report: Report): string | null {
  const states = report.scenarios.filter(({ name }) => name === SCENARIO);
  const panels = METRICS.flatMap((shown) => readPanel(states, shown) ?? []);
  if (panels.length === 0) return null;
  const { cpus, node } = report.machine;
  const note = report.smoke ? "A smoke run: its figures mean nothing. " : "";
  const marks = [
    label("title", { x: MARGIN, y: 36 }, "The way to a small tool and back"),
    label("note", { x: MARGIN, y: 56 }, `${note}${cpus} processors, Node ${node}, ${report.startedAt.slice(0, 10)}`),
    ...drawLegend(states),
  ];
  let y = HEAD_HEIGHT;
  for (const panel of panels) {
    const drawn = drawPanel(panel, y);
    marks.push(...drawn.marks);
    y = drawn.endY;
  }
  return picture(WIDTH, y + MARGIN, `Glovebox, ${SCENARIO}: times and rates of its subjects`, CSS, marks);
}

function readPanel(
  states: readonly ScenarioReport[],
  { metric, caption, verb }: (typeof METRICS)[number],
): Panel | null {
  const measured = states.flatMap(({ state, rows }) =>
    rows.filter((row) => row.metric === metric).map((row) => ({ state, row })),
  );
  const bars = Map.groupBy(
    measured.map(({ state, row }): Bar => ({ state, row, ratios: ratiosTo(row.subject, state, measured) })),
    ({ row }) => row.subject,
  );
  const comparing = measured.filter(({ row }) => Object.keys(row.ratios).length > 0).map(({ row }) => row.subject);
  const max = Math.max(...measured.map(({ row }) => row.median));
  return measured.length === 0 ? null : { caption, verb, bars, comparing: [...new Set(comparing)], max };
}

function ratiosTo(subject: string, state: string, measured: readonly Pick<Bar, "state" | "row">[]) {
  const ratios = new Map<string, number>();
  for (const other of measured) {
    const ratio = other.state === state ? other.row.ratios[subject] : undefined;
    if (ratio !== undefined) ratios.set(other.row.subject, ratio);
  }
  return ratios;
}

/** What the two shades stand for. */
function drawLegend(states: readonly ScenarioReport[]): string[] {
  return states.flatMap(({ state }, at) => {
    const x = RATIOS_X + at * RATIO_WIDTH;
    return [
      rectangle(styleOf("own", state), { x, y: 46, width: BAR_HEIGHT, height: BAR_HEIGHT }),
      label("note", { x: x + BAR_HEIGHT + 6, y: 46 + BASELINE }, `${state} machine`),
    ];
  });
}

function drawPanel({ caption, verb, bars, comparing, max }: Panel, startY: number) {
  const marks = [
    label("caption", { x: MARGIN, y: startY + 20 }, caption),
    ...comparing.map((name, at) => label("ratio faint", { x: ratioX(at), y: startY + 20 }, `${name} ${verb}`)),
  ];
  let y = startY + CAPTION_HEIGHT;
  for (const [subject, own] of bars) {
    const middle = y + (LINE_HEIGHT * (own.length - 1)) / 2 + BASELINE;
    marks.push(label("name", { x: MARGIN, y: middle }, subject));
    for (const bar of own) {
      marks.push(...drawBar(bar, comparing, max, y));
      y += LINE_HEIGHT;
    }
    y += GAP;
  }
  return { marks, endY: y };
}

function drawBar({ state, row, ratios }: Bar, comparing: readonly string[], max: number, y: number): string[] {
  const width = (row.median / max) * BAR_WIDTH;
  const style = styleOf(Object.keys(row.ratios).length > 0 ? "own" : "peer", state);
  const value = `${formatNumber(row.median)} ${row.unit}`;
  const marks = [
    rectangle(style, { x: BARS_X, y, width, height: BAR_HEIGHT }),
    label("value", { x: BARS_X + width + 6, y: y + BASELINE }, value),
  ];
  for (const [at, name] of comparing.entries()) {
    const ratio = ratios.get(name);
    if (ratio !== undefined) {
      marks.push(label("ratio", { x: ratioX(at), y: y + BASELINE }, `${formatNumber(ratio)}× this`));
    }
  }
  return marks;
}

function ratioX(at: number): number {
  return RATIOS_X + (at + 1) * RATIO_WIDTH - MARGIN / 2;
}

function styleOf(kind: "own" | "peer", state: string): string {
  return state === "busy" ? `${kind} busy` : kind;
}
