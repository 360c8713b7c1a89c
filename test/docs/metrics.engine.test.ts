import { expect, test } from "vitest";
import { createEngine } from "../../src/glovebox/index.ts";
import { createServer } from "../../src/server/http/server.ts";
import { readPage } from "./markdown.ts";

test("the page of metrics has the metrics that a scrape shows", async () => {
  const engine = await createEngine({ workers: 1, executor: "threads" });
  await using server = await createServer(engine, { port: 0 });
  const scrape = await (await fetch(`${server.url}/metrics`)).text();
  const shown = [...scrape.matchAll(/^# TYPE (glovebox_\w+) (\w+)$/gm)].map(([, name, type]) => `${name} ${type}`);
  const table = readPage("docs/reference/metrics.md").text.split("## Server of a fleet")[0] ?? "";
  const described = [...table.matchAll(/^\| `(\w+)` +\| (\w+)/gm)].map(([, name, type]) => `${name} ${type}`);
  expect(described.toSorted()).toEqual(shown.toSorted());
});
