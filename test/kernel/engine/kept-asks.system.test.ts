import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createEngine, defineCapability, type Engine } from "../../../src/glovebox/index.ts";

const SOURCE = `export default async ({ origin }, { host }) => {
  const text = await (await fetch(origin + "/slow?secret=1")).text();
  const sum = await host.tools.add({ a: 1, b: 2 });
  const refused = await host.kv.get("key").then(() => "", (error) => error.code);
  const killed = await host.kill.now();
  return { text, sum, refused, killed };
};`;

test("a call with a denied request, a child and a killed executor is kept as it went", async () => {
  const arrived: number[] = [];
  const answered: number[] = [];
  const server = createServer((_request, response) => {
    arrived.push(Date.now());
    setTimeout(() => {
      answered.push(Date.now());
      response.end("slow");
    }, 30);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let isArmed = false;
  /** Resolves once the executor is lost. */
  const killAll = async (): Promise<boolean> => {
    if (!isArmed) return false;
    isArmed = false;
    const lost = new Promise((resolve) => engine.on("executor:lost", resolve));
    for (const pid of engine.stats().executor.groups?.flatMap(({ pids }) => pids) ?? []) process.kill(pid, "SIGKILL");
    await lost;
    return true;
  };
  const kill = defineCapability({ name: "kill", methods: { now: { handler: killAll } } });
  const engine: Engine = await createEngine({
    workers: 1,
    capabilities: [kill],
    policy: { rules: [{ allow: { kill: true, tools: ["add"], fetch: { origins: ["*"], privateOrigins: [origin] } } }] },
    calls: { path: ":memory:", keep: "everything" },
    tools: [
      { name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b;" },
      {
        name: "goer",
        description: "Goes.",
        capabilities: { kill: true, kv: {}, tools: ["add"], fetch: { origins: ["*"] } },
        source: SOURCE,
      },
    ],
  });
  onTestFinished(() => engine.close());
  await engine.execute({ name: "goer", arguments: { origin } });
  isArmed = true;
  const result = await engine.execute({ id: "gone", name: "goer", arguments: { origin } });
  expect(result).toMatchObject({ success: true, output: { text: "slow", sum: 3, killed: true } });

  const call = await engine.calls.get("gone");
  const { beginMs = 0, detail } = call ?? {};
  expect(call).toMatchObject({ attempts: 2, detail: { isReplayable: true } });
  const row = ({ capability, outcome, attempt, isReplayed }: NonNullable<typeof detail>["asks"][number]) =>
    `${attempt} ${capability} ${outcome}${isReplayed ? " again" : ""}`;
  // A denial is recorded on another path than an answer, and may come later.
  const ORDER = ["fetch", "tools", "kv", "kill"];
  const rank = ({ capability }: { readonly capability: string }): number => ORDER.indexOf(capability);
  const asks = detail?.asks.toSorted((one, other) => rank(one) - rank(other)) ?? [];
  const made = asks.filter(({ isReplayed }) => !isReplayed);
  expect(made.map(row)).toEqual(["1 fetch ok", "1 tools ok", "1 kv denied", "1 kill ok"]);
  const repeated = asks.filter(({ isReplayed }) => isReplayed);
  expect(repeated.map(row)).toEqual(["2 fetch ok again", "2 tools ok again", "2 kv denied again", "2 kill ok again"]);
  const [fetched, called, , killed] = made;
  expect(fetched).toMatchObject({
    target: `${origin}/slow`,
    httpMethod: "GET",
    rule: "policy.rules[0]",
    bytes: expect.any(Number),
  });

  // Each row spans what others have seen of it.
  const span = ({ atMs = 0, durationMs = 0 } = {}) => [beginMs + atMs, beginMs + atMs + durationMs] as const;
  const [begin, end] = span(fetched);
  expect(begin).toBeLessThanOrEqual((arrived[1] ?? 0) + 1);
  expect(end).toBeGreaterThanOrEqual((answered[1] ?? 0) - 1);
  const [child] = (await engine.calls.list({ parent: "gone" })).calls;
  const [calledFrom, calledTo] = span(called);
  expect(child).toMatchObject({ tool: "add", surface: "tool", code: "ok" });
  expect(child?.beginMs).toBeGreaterThanOrEqual(calledFrom - 1);
  expect((child?.beginMs ?? 0) + (child?.wallMs ?? 0)).toBeLessThanOrEqual(calledTo + 1);
  // The second start came when the first was lost.
  const turns = detail?.turns ?? [];
  expect(turns[0]).toMatchObject({ attempt: 1, cpuMs: 0 });
  expect(turns.at(-1)?.attempt).toBe(2);
  expect(turns.find(({ attempt }) => attempt === 2)?.atMs).toBeGreaterThanOrEqual(killed?.atMs ?? Infinity);
  expect((await engine.calls.replay("gone"))?.differences).toEqual([]);
});
