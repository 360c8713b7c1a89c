/** One scene in which a tenant keeps the host's thread busy; tells what the loop and other tenants felt of it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { createEngine, defineCapability, type Engine, type ToolResult } from "../../src/glovebox/index.ts";
import { TurnMeter } from "../turns.ts";

/** However busy the machine is: nothing here is about the time of a call. */
const WALL_MS = 180_000;

/** Result of a scene. Times in milliseconds. */
export interface Felt {
  /** The longest turn of the loop, in processor time. */
  readonly loopMaxMs: number;
  readonly innocentP99Ms: number;
  readonly innocentMaxMs: number;
  /** Longest wait of a second tenant's capability call. */
  readonly askMaxMs: number;
  /** Time charged to the attacking tenant. */
  readonly chargedMs: number;
  readonly asks: number;
  readonly heapMb: number;
  /** How often its calls ended with each code. */
  readonly codes: Readonly<Record<string, number>>;
}

interface Scene {
  /** Body of the attacking tool. */
  readonly body: string;
  readonly calls: number;
  /** Body of a tool that the attacker calls before. */
  readonly before?: string;
  readonly capabilityBytes?: number;
  readonly wallMs?: number;
}

const FLOOD = (ask: string) => `await Promise.allSettled(Array.from({ length: 10_000 }, (_, at) => ${ask}));`;

const SCENES: Readonly<Record<string, Scene>> = {
  env: { body: FLOOD('host.env.get("GLOVEBOX_ATTACK")'), calls: 1 },
  kv: { body: FLOOD('host.kv.set("key" + (at % 100), at)'), calls: 1 },
  denied: { body: FLOOD('host.fetch("https://example.com/" + at)'), calls: 1 },
  fs: {
    before: "await host.fs.writeFile('/shared/text', 'x'.repeat(1_000));",
    body: FLOOD("host.fs.readFile('/shared/text', 'utf8')"),
    calls: 1,
  },
  // A request takes two capability calls where its body is read.
  fetch: { body: FLOOD('fetch(input.origin + "/" + at).then((response) => response.text())'), calls: 1 },
  // Nobody waits for ten thousand commands: the call ends at its wall limit.
  exec: { body: FLOOD('host.exec.run({ command: "true" })'), calls: 1, wallMs: 5_000 },
  custom: { body: FLOOD("host.work.tick([at])"), calls: 1 },
  blocking: { body: "await Promise.allSettled(Array.from({ length: 250 }, () => host.work.block()));", calls: 1 },
  expired: {
    before: `for (let at = 0; at < 5_000; at += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, more) => host.kv.set("dead" + (at + more), 1, { ttlMs: 1 })));
    }`,
    body: "for (let at = 0; at < 100; at++) await host.kv.list({ prefix: 'dead' });",
    calls: 16,
  },
  refused: {
    body: `const text = "x".repeat(900_000);
      await Promise.allSettled(Array.from({ length: 60 }, () => host.work.nothing(text)));
      await Promise.allSettled(Array.from({ length: 60 }, () => host.denied.get(text)));`,
    calls: 20,
    capabilityBytes: 256 * 1024 * 1024,
  },
  accepted: {
    body: `const text = "x".repeat(200_000);
      await Promise.allSettled(Array.from({ length: 120 }, () => host.work.tick(text)));`,
    calls: 20,
    capabilityBytes: 256 * 1024 * 1024,
  },
};

const work = defineCapability({
  name: "work",
  methods: {
    tick: { handler: () => null },
    block: {
      handler: () => {
        const endMs = performance.now() + 20;
        while (performance.now() < endMs);
      },
    },
  },
});

/** A server in a thread of its own: the loop that is measured does not serve. */
async function startServer(): Promise<{ readonly origin: string; readonly thread: Worker }> {
  const program = `const { parentPort } = require("node:worker_threads");
    const server = require("node:http").createServer((request, response) => response.end("answer"));
    server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));`;
  const thread = new Worker(program, { eval: true });
  const [port] = (await once(thread, "message")) as [number];
  return { origin: `http://127.0.0.1:${port}`, thread };
}

async function carryOut(scene: Scene, stateDir: string): Promise<Felt> {
  const { origin, thread } = await startServer();
  await using _server = { [Symbol.asyncDispose]: async () => void (await thread.terminate()) };
  const capabilities = {
    work: true,
    env: ["GLOVEBOX_*"],
    kv: true as const,
    exec: true as const,
    fetch: { origins: ["https://a.example", origin], maxRequests: 20_000 },
    fs: { shared: { mode: "rw" as const } },
  };
  const granted = {
    ...capabilities,
    fetch: { origins: ["https://a.example"], privateOrigins: [origin], maxRequests: 20_000 },
    fs: { shared: { path: stateDir, mode: "rw" as const } },
  };
  const tool = (name: string, body: string) => ({
    name,
    description: name,
    source: `export default async (input, { host }) => { ${body} };`,
    capabilities,
    limits: { capabilityBytes: scene.capabilityBytes ?? 8 * 1024 * 1024, wallMs: scene.wallMs ?? WALL_MS },
  });
  await using engine = await createEngine({
    stateDir,
    workers: 3,
    executor: { kind: "process", spare: false },
    tools: [
      tool("attack", scene.body),
      tool("before", scene.before ?? ""),
      tool("second", "await host.work.tick();"),
      { name: "innocent", description: "Asks for nothing.", source: "export default () => 1;" },
    ],
    limits: { capabilityCalls: 10_000, cpuMs: 20_000, wallMs: WALL_MS, queueMs: WALL_MS, memoryMb: 512 },
    capabilities: [work],
    policy: { rules: [{ allow: granted }] },
  });
  for (const name of ["before", "second", "innocent"]) await engine.execute({ name, arguments: {} }, { tenant: name });
  await engine.execute({ name: "before", arguments: {} }, { tenant: "attacker" });
  return await attackOf(engine, scene, origin);
}

async function attackOf(engine: Engine, { calls }: Scene, origin: string): Promise<Felt> {
  using turns = new TurnMeter();
  const [innocents, seconds]: [number[], number[]] = [[], []];
  let isOver = false;
  let heapBytes = 0;
  const every = async (name: string, ms: number, times: number[]) => {
    while (!isOver) {
      const startMs = performance.now();
      await engine.execute({ name, arguments: {} }, { tenant: name });
      times.push(performance.now() - startMs);
      heapBytes = Math.max(heapBytes, process.memoryUsage().heapUsed);
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
  };
  const others = [every("innocent", 5, innocents), every("second", 20, seconds)];
  const attacks = Array.from({ length: calls }, () =>
    engine.execute({ name: "attack", arguments: { origin } }, { tenant: "attacker" }),
  );
  const results = await Promise.all(attacks);
  isOver = true;
  await Promise.all(others);
  turns.stop();
  const { mainMs, brokerMs, asks } = engine.usage("attacker");
  const sorted = innocents.toSorted((one, other) => one - other);
  return {
    loopMaxMs: turns.longestMs,
    innocentP99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
    innocentMaxMs: sorted.at(-1) ?? 0,
    askMaxMs: Math.max(...seconds),
    chargedMs: mainMs + brokerMs,
    asks,
    heapMb: heapBytes / 1024 ** 2,
    codes: countCodes(results),
  };
}

function countCodes(results: readonly ToolResult[]): Record<string, number> {
  const codes: Record<string, number> = {};
  for (const { error } of results) codes[error?.code ?? "ok"] = (codes[error?.code ?? "ok"] ?? 0) + 1;
  return codes;
}

const scene = SCENES[process.argv[2] ?? ""];
if (scene !== undefined) {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-host-work-"));
  try {
    console.log(JSON.stringify(await carryOut(scene, folder)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
