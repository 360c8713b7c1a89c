import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { check_capability, load_spec, SpecError, ToolRegistry } from "../../../src/contrib/strands/index.ts";
import { createEngine } from "../../../src/glovebox/index.ts";
import { expectPublished, type Published } from "../../conformance/published.ts";

const CHECKOUTS = process.env["GLOVEBOX_UPSTREAM_STRANDS"];
const HOW =
  "of GLOVEBOX_UPSTREAM_STRANDS, a folder with a clone strands-cli of https://github.com/ThomasRohde/strands-cli and a folder wheels with structlog,";
const EXAMPLES_MS = 120_000;
const VERSION = "929836b9e18999e3445938b56d88060c0a2c90dd";

/** What stands in the way, by the reason that the checker or the reader gives. The first that matches counts. */
const REASONS: readonly (readonly [match: RegExp, verdict: "refused" | "open", why: string])[] = [
  [/wait for a person/, "refused", "a step waits for a person, and nobody can be asked"],
  [/^Provider /, "refused", "the provider is another than ollama and openai"],
  [/Agents of other files/, "refused", "an agent is in another file, and no other file is read"],
  [/a tag is not closed/, "refused", "a template is not closed, which Jinja refuses too"],
  [
    /is not one of the workflow's tools/,
    "open",
    "an agent names a tool that the workflow does not list, which upstream seems to accept",
  ],
  [/regex_search/, "open", "a template uses regex_search, which has no bounded form yet"],
  [/kind 'mcp'/, "refused", "a workflow starts no MCP servers: a native tool takes their place"],
  [/http_executors/, "open", "HTTP executors are not made into tools"],
  [
    /^There is no tool|callable '/,
    "open",
    "spec_verify, a native tool of the Strands CLI, needs the CLI's own packages, such as pydantic",
  ],
];

test.skipIf(CHECKOUTS === undefined)(
  `the published examples ${HOW} are read, and run or are refused`,
  { timeout: EXAMPLES_MS },
  async () => {
    const folder = join(CHECKOUTS ?? "", "strands-cli/examples");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.ya?ml$/.test(name));
    const packages = { wheels: join(CHECKOUTS ?? "", "wheels") };
    await using engine = await createEngine({ workers: 1, executor: "threads", packages });
    const tools = join(CHECKOUTS ?? "", "strands-cli/src/strands_cli/tools");
    const registry = await ToolRegistry.discover({ engine, tools });
    const published: Published[] = [];
    for (const name of files.toSorted()) {
      const { isRead, reasons } = await reasonsOf(join(folder, name), registry);
      const loads = isRead ? "yes" : "no";
      const runs = "-";
      if (reasons.length === 0) published.push({ name, loads, validates: "yes", runs, verdict: "works" });
      else published.push({ name, loads, validates: "no", runs, ...classify(name, reasons) });
    }
    await expectPublished("strands-cli-examples", {
      title: "Strands CLI, workflows in examples",
      source: "https://github.com/ThomasRohde/strands-cli",
      version: VERSION,
      given: "The tools are those of `strands_cli.tools`, unchanged",
      published,
    });
    expect(published.filter(({ loads }) => loads === "yes").length).toBeGreaterThanOrEqual(86);
  },
);

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
  return { verdict: found[1], why: found[2] };
}
