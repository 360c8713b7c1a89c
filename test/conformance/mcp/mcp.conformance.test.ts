import { createServer as createNodeServer } from "node:http";
import express from "express";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { toMcpHandler } from "../../../src/server/handlers/index.ts";
import { createServer } from "../../../src/server/http/server.ts";
import { listen } from "../../server/handlers/web-server.ts";
import { byReason, expectOutcome } from "../outcome.ts";
import { type Difference, KNOWN_DIFFERENCES } from "./known-differences.ts";
import { runSuite, type Suite, versionOf } from "./run-suite.ts";
import { CHANGES_TOOLS, TOOLS } from "./tools.ts";

const DEADLINE_MS = 300_000;

const SUITES: readonly (readonly [revision: keyof typeof KNOWN_DIFFERENCES, suite: Suite])[] = [
  ["2025-11-25", { package: "@modelcontextprotocol/conformance", select: ["--suite", "all"] }],
  ["2026-07-28", { package: "mcp-conformance-alpha", select: ["--requirements", "2026-07-28"] }],
];

let engine: Engine;
let cleanup: AsyncDisposableStack;

beforeAll(async () => {
  cleanup = new AsyncDisposableStack();
  engine = await createEngine({ workers: 1, executor: "threads", tools: [...TOOLS] });
  cleanup.defer(() => engine.close({ drainMs: 0 }));
  let changes = 0;
  engine.on("tool:pre", ({ call }) => {
    if (call.name !== CHANGES_TOOLS) return;
    changes += 1;
    void engine.register({ name: `added_${changes}`, description: "Is new.", source: "export default () => 1;" });
  });
});
afterAll(() => cleanup.disposeAsync());

async function serveAlone(): Promise<string> {
  const server = await createServer(engine, { port: 0 });
  cleanup.defer(() => server.close());
  return `${server.url}/mcp`;
}

async function serveMounted(): Promise<string> {
  const handler = toMcpHandler(engine, { allowAnybody: true, hosts: ["127.0.0.1", "localhost"] });
  const server = createNodeServer(express().use("/x/mcp", handler.node));
  cleanup.defer(async () => {
    await handler.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `${await listen(server)}/x/mcp`;
}

const SERVERS = [
  ["createServer", serveAlone],
  ["toMcpHandler in Express under /x/mcp", serveMounted],
] as const;

function covers(name: string, check: string): boolean {
  return check === name || check.startsWith(`${name}:`);
}

/** The checks that differ in known ways, with their reasons. */
function explained(checks: readonly string[], differences: readonly Difference[]): Difference[] {
  return checks.flatMap((check): Difference[] => {
    const reason = differences.find(([name]) => covers(name, check))?.[1];
    return reason === undefined ? [] : [[check, reason]];
  });
}

describe.each(SERVERS)("the server suite of MCP against %s", (_name, serve) => {
  let url: string;
  beforeAll(async () => {
    url = await serve();
  });

  test.each(SUITES)(
    "of revision %s has the outcome of the page of conformance",
    { timeout: DEADLINE_MS },
    async (revision, suite) => {
      const { notApplicable, open } = KNOWN_DIFFERENCES[revision];
      const differences: readonly Difference[] = [...notApplicable, ...open];
      const verdicts = [...(await runSuite(suite, url))].filter(([, verdict]) => verdict !== "SKIPPED");
      const fallen = verdicts.filter(([, verdict]) => verdict !== "SUCCESS").map(([check]) => check);
      expect({
        unknown: fallen.filter((check) => !differences.some(([name]) => covers(name, check))),
        passing: differences.map(([name]) => name).filter((name) => !fallen.some((check) => covers(name, check))),
      }).toEqual({ unknown: [], passing: [] });
      const version = versionOf(suite);
      await expectOutcome(`mcp-${revision}`, {
        suite: `MCP ${revision}, conformance ${version}`,
        version,
        passed: verdicts.length - fallen.length,
        notApplicable: byReason(explained(fallen, notApplicable)),
        refused: [],
        open: byReason(explained(fallen, open)),
      });
    },
  );
});
