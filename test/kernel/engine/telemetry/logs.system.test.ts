import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { type Level, pino } from "pino";
import { describe, expect, test } from "vitest";
import { createKey } from "../../../../src/server/access/secret.ts";
import { createEngine, defineCapability, type Engine, type Logger } from "../../../../src/glovebox/index.ts";
import { MAIN } from "../../../server/served.ts";

const ENDS_WITHIN_MS = 120_000;

const world = defineCapability({ name: "world", methods: { look: { handler: () => "seen" } } });

function openEngine(logger: Logger): Promise<Engine> {
  return createEngine({
    workers: 1,
    executor: "threads",
    tools: [
      { name: "add", description: "d", source: "export default ({ a, b }) => a + b;" },
      { name: "throw", description: "d", source: "export default () => { throw new Error('no'); };" },
      {
        name: "look",
        description: "d",
        source: "export default (i, { host }) => host.world.look();",
        capabilities: { world: true },
      },
      {
        name: "parent",
        description: "d",
        source: "export default (i, { host }) => host.tools.call('add', { a: 1, b: 2 });",
        capabilities: { tools: ["add"] },
      },
    ],
    capabilities: [world],
    policy: { rules: [{ allow: { world: true, tools: ["*"] } }] },
    logger,
  });
}

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [name: string]: unknown;
}

/** A pino logger, and what it has written. */
function listen(level: Level): { readonly logger: Logger; readonly lines: Line[] } {
  const lines: Line[] = [];
  const logger = pino({ level }, { write: (line: string) => void lines.push(JSON.parse(line) as Line) });
  return { logger, lines };
}

const ENDED = "a call ended";
const ASKED = "a call made a capability call";

describe("at debug", () => {
  test("a call is one line that says who, what, how it ended and what it cost", async () => {
    const { logger, lines } = listen("debug");
    await using engine = await openEngine(logger);
    await engine.execute({ id: "c1", name: "add", arguments: { a: 1, b: 2 } }, { tenant: "acme" });
    expect(lines.filter(({ msg }) => msg === ENDED)).toEqual([
      {
        level: 20,
        time: expect.any(Number),
        pid: expect.any(Number),
        hostname: expect.any(String),
        msg: ENDED,
        callId: "c1",
        tool: "add",
        tenant: "acme",
        code: "ok",
        queueMs: expect.any(Number),
        wallMs: expect.any(Number),
        cpuMs: expect.any(Number),
        heapBytes: expect.any(Number),
        attempts: 1,
      },
    ]);
  });

  test("calls that fail, are refused, or are made by other calls have theirs", async () => {
    const { logger, lines } = listen("debug");
    await using engine = await openEngine(logger);
    await engine.execute({ name: "throw", arguments: {} });
    await engine.execute({ name: "x".repeat(100_000), arguments: {} });
    await engine.execute({ id: "c2", name: "parent", arguments: {} });
    const calls = lines.filter(({ msg }) => msg === ENDED);
    expect(calls.map(({ code }) => code)).toEqual(["tool_error", "tool_not_found", "ok", "ok"]);
    expect(calls.map(({ parentId }) => parentId)).toEqual([undefined, undefined, "c2", undefined]);
    expect(String(calls[1]?.["tool"]).length).toBe(128);
  });

  test("what calls ask for is not told", async () => {
    const { logger, lines } = listen("debug");
    await using engine = await openEngine(logger);
    await engine.execute({ name: "look", arguments: {} });
    expect(lines.filter(({ msg }) => msg === ASKED)).toEqual([]);
  });
});

test("at trace, what a call asks the host for is a line", async () => {
  const { logger, lines } = listen("trace");
  await using engine = await openEngine(logger);
  await engine.execute({ id: "c3", name: "look", arguments: {} });
  const [line, ...more] = lines.filter(({ msg }) => msg === ASKED);
  expect(more).toEqual([]);
  expect(line).toMatchObject({ level: 10, callId: "c3", tool: "look", asked: "world.look", step: 1, outcome: "ok" });
});

test("at info, no line is made of a call", async () => {
  const { logger, lines } = listen("info");
  let made = 0;
  const counting: Logger = {
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    debug: () => made++,
    trace: () => made++,
    isLevelEnabled: (level) => logger.isLevelEnabled?.(level) ?? true,
  };
  await using engine = await openEngine(counting);
  const before = lines.length;
  await engine.execute({ name: "look", arguments: {} });
  await engine.execute({ name: "throw", arguments: {} });
  expect([made, lines.length - before]).toEqual([0, 0]);
});

test("a logger that only informs and warns is one", async () => {
  await using engine = await openEngine({ info: () => undefined, warn: () => undefined });
  expect((await engine.execute({ name: "look", arguments: {} })).success).toBe(true);
});

test("nothing that a call was given, gave, said or knew is in the logs of a server, at any level", async () => {
  const key = createKey().secret;
  const SECRETS = [
    "canary-argument",
    "canary-output",
    "canary-console",
    "canary-message",
    "canary-secret",
    "canary-key",
    key,
  ];
  const folder = mkdtempSync(join(tmpdir(), "glovebox-logs-"));
  const world = createServer(({ headers }, response) => response.end(JSON.stringify(headers)));
  await new Promise<void>((resolve) => world.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(world.address() as AddressInfo).port}`;
  const tool = `
    export const spec = { name: "tell", description: "d", capabilities: { fetch: { origins: ["${origin}"] }, secrets: ["KEY"] },
      inputSchema: { type: "object", properties: { how: { type: "string" }, said: { type: "string", maxLength: 20 } } } };
    export default async ({ how, said }, { host }) => {
      console.log("canary-console", said);
      await fetch("${origin}/?canary-argument", { headers: { authorization: host.secrets.KEY } });
      if (how === "throw") throw new Error("canary-message " + said);
      if (how === "fetch") await fetch("http://169.254.169.254/canary-argument");
      return { said, output: "canary-output" };
    };`;
  writeFileSync(join(folder, "tell.js"), tool);
  const config = {
    tools: [join(folder, "tell.js")],
    keys: [{ name: "agent", env: "AGENT_KEY", tenant: null, roles: ["execute"] }],
    secrets: { KEY: { value: "canary-secret", bind: [{ origin }] } },
    policy: { rules: [{ allow: { fetch: { origins: [], privateOrigins: [origin] }, secrets: ["KEY"] } }] },
  };
  writeFileSync(join(folder, "glovebox.config.json"), JSON.stringify(config));
  const args = ["serve", "--port", "0", "--workers", "1", "--log-level", "trace"];
  const server = spawn(process.execPath, [...MAIN, ...args], {
    cwd: folder,
    stdio: "pipe",
    env: { ...process.env, AGENT_KEY: key },
  });
  const deadline = setTimeout(() => server.kill("SIGKILL"), ENDS_WITHIN_MS);
  try {
    const written = text(server.stderr);
    let url = "";
    for await (const line of createInterface({ input: server.stdout })) {
      url = /http:\S+/.exec(line)?.[0] ?? "";
      break;
    }
    const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
    const post = async (body: string): Promise<string> => {
      const response = await fetch(`${url}/v1/execute`, { method: "POST", headers, body });
      return response.text();
    };
    const call = (input: unknown) => post(JSON.stringify({ name: "tell", arguments: input }));
    expect(await call({ how: "return", said: "canary-argument" })).toContain("canary-output");
    expect(await call({ how: "throw", said: "canary-argument" })).toContain("canary-message");
    expect(await call({ how: "fetch", said: "canary-argument" })).toContain("capability_denied");
    expect(await call({ said: "canary-argument canary-argument" })).toContain("invalid_arguments");
    await post('{"name": "tell", "arguments": {"said": "canary-argument"');
    await fetch(`${url}/v1/tools/x?key=canary-key`, { headers });
    await fetch(`${url}/v1/tools`, { headers: { authorization: "Bearer canary-key" } });
    server.kill("SIGTERM");
    const log = await written;
    expect(log.split("\n").filter((line) => line.includes(ENDED)).length).toBe(4);
    expect(log.split("\n").filter((line) => line.includes(ASKED)).length).toBeGreaterThanOrEqual(4);
    expect(SECRETS.filter((secret) => log.includes(secret))).toEqual([]);
    expect(log).not.toContain(folder);
    const lines = log.trimEnd().split("\n");
    // A line that is no JSON cannot be read, and one that has a key twice is shorter once it is written again.
    expect(lines.filter((line) => JSON.stringify(JSON.parse(line)) !== line)).toEqual([]);
    expect(lines.length).toBeGreaterThan(8);
  } finally {
    clearTimeout(deadline);
    server.kill("SIGKILL");
    world.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

describe("a service whose stderr is no terminal", () => {
  const linesOf = (log: string): readonly Line[] =>
    log
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);

  test.each([
    ["an option that does not exist", ["serve", "--nothing"], 2, "error: unknown option '--nothing'"],
    ["a configuration that does not exist", ["serve", "--config", "nothing.yaml"], 2, "nothing.yaml"],
    ["a worker machine without Redis", ["worker"], 2, "say where the fleet's Redis is"],
    ["a folder without tools, for an MCP client", ["mcp", "--tools", "nothing"], 3, "nothing"],
  ])("tells what ends its start as JSON: %s", async (_what, args, exit, said) => {
    const child = spawn(process.execPath, [...MAIN, ...args], { stdio: ["ignore", "ignore", "pipe"] });
    const [log, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
    expect(code).toBe(exit);
    expect(linesOf(log)).toContainEqual(expect.objectContaining({ level: 50, msg: expect.stringContaining(said) }));
  });

  test("tells Node's warnings and an error that nobody has caught as JSON, and ends", async () => {
    const broken = `process.on("SIGUSR2", () => { process.emitWarning("mind this"); setImmediate(() => { throw new Error("broken"); }); });`;
    const program = ["--import", `data:text/javascript,${encodeURIComponent(broken)}`, ...MAIN];
    const args = [...program, "serve", "--port", "0", "--workers", "1"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    try {
      const ended = Promise.all([text(child.stderr), once(child, "close")]);
      for await (const line of createInterface({ input: child.stdout })) if (line.includes("listening")) break;
      child.kill("SIGUSR2");
      const [log, [code]] = await ended;
      expect(code).toBe(1);
      expect(linesOf(log)).toContainEqual(expect.objectContaining({ level: 40, warning: "Warning", msg: "mind this" }));
      // Not always the last: a line before it can be on its way to the pipe when this one is written at once.
      const fatal = linesOf(log).filter(({ level }) => level === 60);
      expect(fatal).toMatchObject([
        {
          msg: "an error that nobody has caught ends this process: broken",
          stack: expect.stringContaining("Error: broken"),
        },
      ]);
    } finally {
      child.kill("SIGKILL");
    }
  });

  test("keeps a bounded number of lines for a slow reader, and tells how many it dropped", async () => {
    const log = new URL("../../../../src/cli/service-log.ts", import.meta.url).href;
    const program = `
      const { openLog } = await import(${JSON.stringify(log)});
      const loggers = [await openLog("info"), await openLog("info")];
      for (let at = 0; at < 300; at++) loggers[at % 2].info({ at, long: "x".repeat(100_000) }, "flood");
      process.stdout.write("flooded");`;
    const child = spawn(process.execPath, ["--no-warnings", "--input-type=module", "-e", program], { stdio: "pipe" });
    try {
      await once(child.stdout, "data");
      const lines = linesOf(await text(child.stderr));
      const floods = lines.filter(({ msg }) => msg === "flood").map(({ at }) => at);
      expect(floods).toEqual(floods.map((_, at) => at));
      const [told] = lines.filter(({ dropped }) => dropped !== undefined);
      expect(told).toMatchObject({ level: 40, dropped: 300 - floods.length });
      expect(floods.length).toBeGreaterThan(100);
      expect(floods.length).toBeLessThan(200);
    } finally {
      child.kill("SIGKILL");
    }
  });
});
