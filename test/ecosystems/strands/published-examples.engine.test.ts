import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { check_capability, load_spec, SpecError, ToolRegistry } from "../../../src/ecosystems/strands/index.ts";
import { createEngine } from "../../../src/index.ts";
import { byReason, expectOutcome } from "../../conformance/outcome.ts";

const CHECKOUT = process.env["GLOVEBOX_UPSTREAM_STRANDS_CLI"];
const HOW = "of GLOVEBOX_UPSTREAM_STRANDS_CLI, a clone of https://github.com/ThomasRohde/strands-cli,";
const VERSION = "929836b9e18999e3445938b56d88060c0a2c90dd";

/** What stands in the way, by the reason that the checker or the reader gives. The first that matches counts. */
const REASONS: readonly (readonly [match: RegExp, kind: "refused" | "open", reason: string])[] = [
  [/wait for a person/, "refused", "a step waits for a person, and nobody can be asked"],
  [/^Provider /, "refused", "the provider is another than ollama and openai"],
  [/Agents of other files/, "refused", "an agent is in another file, and no other file is read"],
  [/a tag is not closed/, "refused", "a template is not closed, which Jinja refuses too"],
  [/regex_search/, "open", "a template uses regex_search, which has no bounded form yet"],
  [/^Skills/, "open", "skills are not read"],
  [/kind 'mcp'/, "open", "MCP servers of a workflow are not connected"],
  [/http_executors/, "open", "HTTP executors are not made into tools"],
  [/^Notes/, "open", "notes are not kept between steps"],
  [/^There is no tool|callable '/, "open", "a native tool of the Strands CLI is not among the samples"],
];

test.skipIf(CHECKOUT === undefined)(`the published examples ${HOW} are read, and run or are refused`, async () => {
  const folder = join(CHECKOUT ?? "", "examples");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.ya?ml$/.test(name));
  await using engine = await createEngine({ workers: 1, executor: "threads" });
  const registry = await ToolRegistry.discover({ engine });
  const loaded: string[] = [];
  const supported: string[] = [];
  const others: { readonly kind: string; readonly file: string; readonly reason: string }[] = [];
  for (const file of files.toSorted()) {
    const found = await reasonsOf(join(folder, file), registry);
    if (found.isRead) loaded.push(file);
    if (found.reasons.length === 0) supported.push(file);
    else others.push({ file, ...classify(file, found.reasons) });
  }
  process.stdout.write(`${files.length} files: ${loaded.length} load, ${supported.length} are supported\n`);
  for (const { file, kind, reason } of others) process.stdout.write(`${kind}  ${file}  ${reason}\n`);
  const cases = (wanted: string) =>
    byReason(others.flatMap(({ kind, file, reason }) => (kind === wanted ? [[file, reason] as const] : [])));
  await expectOutcome("strands-cli-examples", {
    suite: "Strands CLI, published workflow examples",
    version: VERSION,
    passed: supported.length,
    notApplicable: [],
    refused: cases("refused"),
    open: cases("open"),
  });
  expect(loaded.length).toBeGreaterThanOrEqual(86);
});

async function reasonsOf(file: string, registry: ToolRegistry) {
  try {
    const { issues } = await check_capability(await load_spec(file), registry);
    return { isRead: true, reasons: issues.map(({ reason }) => reason) };
  } catch (error) {
    if (error instanceof SpecError) return { isRead: false, reasons: [error.message] };
    throw error;
  }
}

function classify(file: string, reasons: readonly string[]) {
  const found = REASONS.find(([match]) => reasons.some((reason) => match.test(reason)));
  if (found === undefined) throw new Error(`${file} is refused for an unknown reason: ${reasons.join("; ")}`);
  return { kind: found[1], reason: found[2] };
}
