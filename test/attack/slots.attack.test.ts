import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { noJail } from "../kernel/broker/capabilities/exec/opened.ts";
import { serve } from "../kernel/broker/capabilities/fetch/server.ts";

/** On a quiet machine 300 ms; behind the calls of the greedy tenant it would be far more. */
const BEGUN_MS = 20_000;
const GREEDY_MS = 60_000;

const GREEDY = { tenant: "greedy" };
const MODEST = { tenant: "modest" };

/** Runs a call of the other tenant while the greedy tenant's calls hold all they can get, and returns its output. */
async function beside(engine: Engine, greedy: number, isHeld: () => boolean): Promise<unknown> {
  const abort = new AbortController();
  const call = { name: "ask", arguments: { isGreedy: true } };
  const calls = Array.from({ length: greedy }, () => engine.execute(call, { ...GREEDY, signal: abort.signal }));
  while (!isHeld()) await delay(20);
  const startMs = performance.now();
  const { output, error } = await engine.execute({ name: "ask", arguments: { isGreedy: false } }, MODEST);
  expect(error).toBeNull();
  expect(performance.now() - startMs).toBeLessThan(BEGUN_MS);
  abort.abort();
  await Promise.all(calls);
  return output;
}

// Both found by a review: others waited without end.
test("a request begins while another tenant asks for all slots of fetch", async () => {
  await using server = await serve((request, response) => {
    if (request.url === "/modest") response.end("answered");
  });
  const grant = { origins: [], privateOrigins: [server.origin] };
  await using engine = await createEngine({
    workers: 1,
    executor: "process",
    policy: { rules: [{ allow: { fetch: grant } }] },
  });
  await engine.register({
    name: "ask",
    description: "asks a server",
    source: `export default async ({ isGreedy }) => {
      if (!isGreedy) return (await fetch("${server.origin}/modest")).text();
      await Promise.all(Array.from({ length: 8 }, () => fetch("${server.origin}/greedy")));
    };`,
    capabilities: { fetch: { origins: [server.origin] } },
    limits: { wallMs: GREEDY_MS },
  });
  expect(await beside(engine, 80, () => server.seen.length >= 384)).toBe("answered");
  expect(server.seen.filter(({ url }) => url === "/greedy")).toHaveLength(384);
});

test("a command begins while another tenant asks for all slots of exec", async ({ skip }) => {
  skip(noJail !== undefined, noJail);
  await using engine = await createEngine({
    workers: 1,
    executor: "process",
    policy: { rules: [{ allow: { exec: { wallMs: GREEDY_MS } } }] },
  });
  await engine.register({
    name: "ask",
    description: "runs a command",
    source: `export default async ({ isGreedy }, { host }) =>
      (await host.exec.run({ command: isGreedy ? "sleep 60" : "echo begun" })).stdout;`,
    capabilities: { exec: true },
    limits: { wallMs: GREEDY_MS },
  });
  const startMs = performance.now();
  expect(await beside(engine, 12, () => performance.now() - startMs > 1_000)).toBe("begun\n");
});
