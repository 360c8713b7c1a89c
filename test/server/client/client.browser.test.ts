import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Server } from "../../../src/server/http/server.ts";
import { launch, serve, visit } from "../console/harness.ts";

const CLIENT = fileURLToPath(new URL("../../../src/server/client/client.ts", import.meta.url));
const TALKS = {
  name: "talks",
  description: "Says a line, and gives its input back.",
  source: "export default (input) => { console.log('hello'); return input; };",
};

/** Runs in the page, with the client as `glovebox`. */
const PROGRAM = `(async () => {
  const client = glovebox.createClient({ url: location.origin });
  const told = [];
  for await (const update of client.stream({ name: "talks", arguments: { a: "é" } })) told.push(update.type);
  const { output } = await client.tools.talks({ b: 1 });
  const results = await client.batch([{ name: "talks", arguments: { c: 1 } }, { name: "nobody", arguments: {} }]);
  const aborted = await client.tools.talks({}, { signal: AbortSignal.abort() }).catch(({ name }) => name);
  return { told, output, codes: results.map(({ error }) => error?.code ?? "ok"), aborted };
})()`;

let browser: Browser;
let server: Server;

beforeAll(async () => {
  [browser, server] = await Promise.all([launch(), serve([TALKS])]);
}, 300_000);

afterAll(() => Promise.all([browser.close(), server.close()]));

test("a page calls tools, streams and batches", async () => {
  const { outputFiles } = await build({
    entryPoints: [CLIENT],
    bundle: true,
    format: "iife",
    globalName: "glovebox",
    platform: "browser",
    write: false,
  });
  await using visited = await visit(browser, server.url);
  const answer = await visited.page.evaluate(`${outputFiles[0]?.text ?? ""}; ${PROGRAM}`);
  expect(answer).toEqual({
    told: ["log", "result"],
    output: { b: 1 },
    codes: ["ok", "tool_not_found"],
    aborted: "AbortError",
  });
});
