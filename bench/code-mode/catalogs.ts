/** Declarations and search over hundreds and thousands of tools, which are work of the host's only thread. */
import { readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { catalogOf, QUESTIONS } from "../../fixtures/code-mode/catalog.ts";
import { Catalog } from "../../src/code-mode/catalog.ts";
import { signatureOf } from "../../src/code-mode/signature.ts";
import { resolveCodeMode } from "../../src/kernel/engine/code-mode-options.ts";
import type { ToolDescription } from "../../src/kernel/tool/contracts/contract.ts";
import { inRounds, pick } from "../rounds.ts";
import { combine, digest } from "../sampling.ts";
import type { Context, Findings } from "../scenario.ts";
import { type Compared, type Metric, type Sample, summarize } from "../statistics.ts";
import { StallWatch, usedUs } from "./stalls.ts";

const TOOLS_OF_COPY = 300;
const LIMIT = 8;
const COMMON = "workspace second fails found exist rate limited minute";
const SUITES = ["draft-07", "2019-09", "2020-12"];

interface Work extends Compared {
  readonly catalog: () => Catalog;
  /** Does the work, and returns what it answered. */
  readonly run: (catalog: Catalog) => Promise<string>;
}

interface Found {
  readonly ms: number;
  readonly stallMs: number;
}

function fresh(copies: number): Catalog {
  // Copies, so that nothing that was made of a tool is known.
  const tools = catalogOf(copies) as readonly ToolDescription[];
  return new Catalog(tools, resolveCodeMode({}));
}

async function declare(catalog: Catalog): Promise<string> {
  await catalog.ready();
  return String(catalog.declarations(4_000).total);
}

async function ask(catalog: Catalog, queries: readonly string[]): Promise<string> {
  const index = await catalog.index();
  const answers: string[] = [];
  for (const query of queries) {
    const { total, matches } = await index.find({ query, limit: LIMIT, detail: "signature" });
    answers.push(`${total} ${matches.map(({ name }) => name).join(" ")}`);
    // Questions of models do not come in one turn.
    await nextTurn();
  }
  return answers.join("\n");
}

function works(): readonly Work[] {
  const made: Work[] = [];
  for (const copies of [1, 10]) {
    const name = `declarations of ${copies * TOOLS_OF_COPY} tools`;
    made.push({ name, against: [], catalog: () => fresh(copies), run: declare });
  }
  const questions = QUESTIONS.map(([question]) => question);
  for (const copies of [1, 11]) {
    const count = copies * TOOLS_OF_COPY;
    const kept = fresh(copies);
    const catalog = () => kept;
    made.push(
      { name: `index of ${count} tools`, against: [], catalog: () => fresh(copies), run: (one) => ask(one, []) },
      { name: `50 questions to ${count} tools`, against: [], catalog, run: (one) => ask(one, questions) },
      { name: `8 words of every tool, of ${count}`, against: [], catalog, run: (one) => ask(one, [COMMON]) },
    );
  }
  return made;
}

/** The schemas of the test suite of JSON Schema: the longest processor time that the declaration of one takes. */
function declareSuite(): { readonly mostMs: number; readonly count: number } {
  let [mostMs, count] = [0, 0];
  for (const name of SUITES) {
    const lines = readFileSync(new URL(`../../fixtures/json-schema/${name}.jsonl`, import.meta.url), "utf8").split(
      "\n",
    );
    for (const line of lines.filter((one) => one !== "")) {
      const [, inputSchema] = JSON.parse(line) as [string, ToolDescription["inputSchema"]];
      const startUs = usedUs();
      signatureOf({ name: "suite", description: "One of the suite.", inputSchema });
      mostMs = Math.max(mostMs, (usedUs() - startUs) / 1e3);
      count++;
    }
  }
  return { mostMs, count };
}

export async function measureCatalogs(context: Context): Promise<Findings> {
  const all = works();
  using watch = new StallWatch();
  const answers: string[] = [];
  for (const { catalog, run } of all) answers.push(await run(catalog()));
  const rounds = await inRounds(context, all, "catalogs", async ({ catalog, run }): Promise<Found> => {
    const made = catalog();
    watch.take();
    const startMs = performance.now();
    await run(made);
    return { ms: performance.now() - startMs, stallMs: watch.take() };
  });
  const metric = (name: string): Metric => ({ name, unit: "ms", better: "lower" });
  const suite: readonly Compared[] = [{ name: "declaration of one schema of the suite, at most", against: [] }];
  const { count } = declareSuite();
  const suites = await inRounds(context, suite, "schemas", async (): Promise<Sample> => ({
    value: declareSuite().mostMs,
  }));
  return combine([
    {
      rows: [
        ...summarize(
          metric("time_ms"),
          all,
          pick(rounds, ({ ms }) => ms),
        ),
        ...summarize(
          metric("longest_turn_cpu_ms"),
          all,
          pick(rounds, ({ stallMs }) => stallMs),
        ),
        ...summarize(metric("longest_cpu_ms"), suite, suites),
      ],
      checksum: digest([...answers, count]),
    },
  ]);
}
