// needs: prometheus, curl
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { fleetMetrics, seriesOf } from "../server/deploy/fleet-files.ts";
import { metricsIn, promtool, rulesOf } from "../kernel/engine/telemetry/promtool.ts";
import { type LinkedFolder, linkedFolder } from "./linked-folder.ts";
import { commandsOf, readPages, skipOf } from "./markdown.ts";
import { ADDRESS, type PageServer, startServer } from "./page-server.ts";
import { runbooks } from "./runbooks.ts";

const STARTS_MS = 300_000;
const RUN_MS = 300_000;
const TOOL = `export const spec = { name: "add", description: "Adds.", inputSchema: {} };
export default ({ a, b }) => a + b;`;

/** Queries of all pages, those of runbooks and of others. */
const queries = readPages().flatMap(({ path, blocks }) =>
  blocks
    .filter((block) => block.language === "promql" && skipOf(block) === undefined)
    .map(({ text, line }) => ({ at: `${path}:${line}`, expr: text.trim() })),
);
/** Commands of runbooks: several have the same first one. */
const commands = [
  ...new Set(
    runbooks
      .flatMap(({ page }) => page.blocks)
      .filter(({ language }) => language === "sh")
      .flatMap((block) => commandsOf(block).map(({ line }) => line)),
  ),
];

let folder: LinkedFolder;
let server: PageServer;

beforeAll(async () => {
  folder = linkedFolder([]);
  folder.write("tools/add.js", TOOL);
  server = await startServer(folder.path, "npx glovebox serve --tools tools");
}, STARTS_MS);

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  folder?.[Symbol.dispose]();
});

test("queries of pages are what Prometheus understands", async () => {
  const rules = queries.map(({ expr }, nth) => ({ record: `query_${nth}`, expr }));
  folder.write("queries.yaml", stringify({ groups: [{ name: "pages", rules }] }));
  const { code, said } = await promtool(["check", "rules", join(folder.path, "queries.yaml")]);
  expect(said).toContain(`${queries.length} rules found`);
  expect(code).toBe(0);
});

test("queries of pages ask for metrics that a scrape shows", async () => {
  const scrape = await (await fetch(`${server.url}/metrics`)).text();
  const types = [...scrape.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = "", type = ""]) => ({ name, type }));
  const recorded = rulesOf("rules").map(({ record = "" }) => record);
  const shown = new Set([...[...types, ...fleetMetrics].flatMap(seriesOf), ...recorded, "up"]);
  const unknown = queries.filter(({ expr }) => {
    const asked = metricsIn(expr);
    return asked.length === 0 || asked.some((name) => !shown.has(name));
  });
  expect(unknown).toEqual([]);
});

test.each(commands)(
  "a runbook's command runs on a server that is well: %s",
  async (command) => {
    const printed = await folder.run("sh", ["-c", command.replaceAll(ADDRESS, server.url)]);
    // A list of calls that wait is empty here.
    if (!command.includes("calls list")) expect(printed).not.toBe("");
    expect(printed).not.toContain("not found");
  },
  RUN_MS,
);
