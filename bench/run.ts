/**
 * The benchmarks' command: `node --no-node-snapshot bench/run.ts [--json FILE] [--scope NAME]… [--rounds N] [--smoke]`.
 * With `--against REVISION` it compares this revision with another one, and exits with 1 where a workload got slower
 * than `--bound PERCENT` (default 3) beyond noise.
 *
 * How it measures: whatever is compared runs in this one process, side by side and round by round, in reversed order
 * every other round. A figure is the median of the rounds; a ratio is computed within each round, and is what counts:
 * absolute figures are those of one machine on one day. The state `busy` matters because waking a sleeping processor
 * can take longer than a call. All answers are checked, so that nothing can be fast by being wrong.
 *
 * The report goes to FILE as JSON, and its main comparison as a chart beside it, under the same name with `.svg`.
 */
import { writeFile } from "node:fs/promises";
import { join, normalize, parse } from "node:path";
import { parseArgs } from "node:util";
import { renderChart } from "./chart.ts";
import { type Report, renderReport } from "./report.ts";
import { chooseWorkloads, type ComparisonOptions, compareRevisions } from "./revisions/compare.ts";
import { renderComparison } from "./revisions/render.ts";
import { chooseScenarios, runSuite, type SuiteOptions } from "./suite.ts";

const USAGE =
  "Usage: bench [--json FILE] [--scope NAME]… [--rounds N] [--smoke]\n" +
  "       bench --against REVISION [--bound PERCENT] [--json FILE] [--scope NAME]… [--rounds N] [--smoke]";
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

interface Command extends SuiteOptions {
  readonly json?: string;
  readonly against?: string;
  readonly boundPercent?: number;
}

/** Throws a `TypeError` or `RangeError` that says which argument is wrong. */
function parseCommand(args: readonly string[]): Command {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: "string" },
      scope: { type: "string", multiple: true },
      rounds: { type: "string" },
      smoke: { type: "boolean", default: false },
      against: { type: "string" },
      bound: { type: "string" },
    },
  });
  const { json, scope, smoke, against, bound } = values;
  if (against === undefined) chooseScenarios(scope);
  else chooseWorkloads(scope ?? []);
  const boundPercent = bound === undefined ? undefined : Number(bound);
  if (boundPercent !== undefined && (against === undefined || !(boundPercent >= 0))) {
    throw new RangeError("--bound must be a percentage of at least 0, and belongs to --against");
  }
  if (json !== undefined && chartBeside(json) === normalize(json)) {
    throw new RangeError("--json must not end in .svg: that is the name of the chart");
  }
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds >= 1)) {
    throw new RangeError("--rounds must be a whole number of at least 1");
  }
  return {
    smoke,
    ...(json === undefined ? {} : { json }),
    ...(against === undefined ? {} : { against }),
    ...(boundPercent === undefined ? {} : { boundPercent }),
    ...(scope === undefined ? {} : { scope }),
    ...(rounds === undefined ? {} : { rounds }),
  };
}

async function main(): Promise<number> {
  const command = readCommand();
  if (command === null) return EXIT_USAGE;
  const progress = (text: string) => console.error(text);
  try {
    const { against } = command;
    if (against !== undefined) return await compare({ ...command, against, progress });
    const report = await runSuite({ ...command, progress });
    if (command.json !== undefined) await writeReport(command.json, report);
    console.log(renderReport(report));
    return 0;
  } catch (error) {
    console.error(error);
    return EXIT_FAILED;
  }
}

/** A smoke run has no verdict. */
async function compare({ json, ...options }: ComparisonOptions & Pick<Command, "json">): Promise<number> {
  const comparison = await compareRevisions(options);
  if (json !== undefined) await writeFile(json, `${JSON.stringify(comparison, null, 2)}\n`);
  console.log(renderComparison(comparison));
  return !comparison.smoke && comparison.workloads.some(({ isSlower }) => isSlower) ? EXIT_FAILED : 0;
}

/** The chart lies beside the report, under the same name. */
async function writeReport(file: string, report: Report): Promise<void> {
  await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
  const chart = renderChart(report);
  if (chart !== null) await writeFile(chartBeside(file), chart);
}

function chartBeside(file: string): string {
  const { dir, name } = parse(file);
  return join(dir, `${name}.svg`);
}

/** Says what is wrong with the arguments where something is. */
function readCommand(): Command | null {
  try {
    return parseCommand(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    return null;
  }
}

process.exitCode = await main();
