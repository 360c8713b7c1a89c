import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CapabilityEvent } from "../../src/kernel/broker/capability-event.ts";
import type { Engine, ToolLocation, ToolResult } from "../../src/glovebox/index.ts";
import type { Recording } from "../../src/kernel/engine/replay/recording.ts";
import { replayCall } from "../../src/standard/create-engine.ts";
import { HAZARDS, INCREMENT, newPackage, noBinaries } from "../wasi/native/binaries.ts";
import { serve, type TestServer } from "../kernel/broker/capabilities/fetch/server.ts";
import { createFleetEngine, startFleet, type TestFleet } from "./fleet.ts";

const CONTRACTS = fileURLToPath(new URL("../../fixtures/contracts/", import.meta.url));
const WASI = fileURLToPath(new URL("../../fixtures/binaries/wasi/increment.wasm", import.meta.url));
const SECRET = "the secret of this fleet";
const KEY = "a value that nobody may see";
const LIMITS = { cpuMs: 30_000, wallMs: 60_000, queueMs: 60_000 };
/** A machine makes its interpreter's image with its first use. */
const TEST_MS = 120_000;

let fleet: TestFleet;
let web: TestServer;
let engine: Engine;
const events: CapabilityEvent[] = [];
/** Names that the server has looked up, once for each connection: an idle one does not last. */
const lookups = new Set<string>();
let origin: string;

beforeAll(async () => {
  fleet = await startFleet(2, { secret: SECRET });
  web = await serve(({ method, url, headers }, response, body) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ method, url, body, key: headers["x-key"] ?? null }));
  });
  origin = `http://localhost:${web.port}`;
  const fetch = { origins: [], privateOrigins: [origin], methods: ["GET", "POST"] };
  engine = await createFleetEngine({
    executor: { kind: "queue", url: fleet.url, fleet: fleet.name, secret: SECRET },
    maxLimits: LIMITS,
    limits: LIMITS,
    policy: {
      rules: [{ tools: ["secretive"], allow: { fetch, secrets: ["KEY"] } }, { allow: { fetch, native: true } }],
    },
    secrets: { KEY: { value: KEY, bind: [{ origin, in: "header:x-key" }] } },
    fetch: {
      lookup: (name) => {
        lookups.add(name);
        return Promise.resolve(["127.0.0.1"]);
      },
    },
  });
  engine.on("capability:call", (event) => events.push(event));
}, TEST_MS);

afterAll(async () => {
  await engine.close();
  await web[Symbol.asyncDispose]();
  await fleet[Symbol.asyncDispose]();
});

const run = (name: string, args: Record<string, unknown> = {}, options: object = {}): Promise<ToolResult> =>
  engine.execute({ name, arguments: args }, options);

/** What was done for a call, on whichever side. */
const doneFor = ({ metadata }: ToolResult) =>
  events
    .filter(({ callId }) => callId === metadata.callId)
    .map(({ capability, method, outcome }) => `${capability}.${method} ${outcome}`);

describe("a tool in Python on worker machines", () => {
  const python = (name: string, lines: string, more: object = {}) =>
    engine.register({
      name,
      description: "Asks.",
      runtime: "python",
      source: `import requests\ndef execute(data):\n    ${lines}\n`,
      capabilities: { fetch: { origins: [origin], methods: ["GET", "POST"] }, ...more },
    });

  test(
    "reads and writes with requests that its server makes",
    async () => {
      await python("reader", `return requests.get('${origin}/a').json()`);
      const read = await run("reader");
      expect(read.output).toMatchObject({ method: "GET", url: "/a" });
      expect([doneFor(read), lookups]).toEqual([["fetch.request ok"], new Set(["localhost"])]);
      const at = (answer: string) => `requests.${answer}.json()`;
      await python("asker", `return [${at(`get('${origin}/a')`)}, ${at(`post('${origin}/b', data='x')`)}]`);
      const result = await run("asker", {}, { record: true });
      expect(result.error).toBeNull();
      expect(result.output).toMatchObject([
        { method: "GET", url: "/a" },
        { method: "POST", url: "/b", body: "x" },
      ]);
      expect(lookups).toEqual(new Set(["localhost"]));
      expect(doneFor(result).filter((done) => done === "fetch.request ok")).toHaveLength(2);
      const { recording } = result.metadata;
      expect((await replayCall(recording as Recording)).isSame).toBe(true);
    },
    TEST_MS,
  );

  test(
    "sends secrets that neither it nor its machine ever has",
    async () => {
      const secrets = { secrets: ["KEY"] };
      await python("secretive", `return requests.get('${origin}/s', headers={'x-key': data['key']}).json()`, secrets);
      const result = await run("secretive", { key: "glovebox.secret.KEY." });
      expect(result.error).toBeNull();
      expect(web.seen.at(-1)?.headers["x-key"]).toBe(KEY);
      expect(JSON.stringify(result)).not.toContain(KEY);
    },
    TEST_MS,
  );

  test(
    "raises what it raises elsewhere, at its own lines",
    async () => {
      await python("raiser", "raise ValueError('no')");
      const { error } = await run("raiser");
      expect(error).toMatchObject({ code: "tool_error", type: "ValueError", message: "no" });
    },
    TEST_MS,
  );
});

test(
  "a WebAssembly program runs on worker machines",
  async () => {
    await engine.register({ name: "wasi", description: "Adds one.", runtime: "wasi", entry: WASI });
    expect((await run("wasi", { value: 42 })).output).toEqual({ result: 43, status: "success" });
    expect((await run("wasi", { value: "x" })).success).toBe(false);
  },
  TEST_MS,
);

describe.skipIf(noBinaries !== undefined)(`a binary (${noBinaries ?? "in bubblewrap"})`, () => {
  test(
    "of a tool that worker machines run is run by the server",
    async () => {
      const info = await engine.register(await newPackage());
      const packaged = await run(info.name, { value: 42 });
      expect(packaged.output).toEqual({ result: 43, status: "success" });
      await engine.register({ name: "native", description: "Adds one.", runtime: "native", entry: INCREMENT });
      const result = await run("native", { value: 1 });
      expect(result.output).toEqual({ result: 2, status: "success" });
      expect(doneFor(result)).toEqual(["native.run ok"]);
    },
    TEST_MS,
  );

  test(
    "is refused where no rule allows it",
    async () => {
      const more = { runtime: "native", entry: HAZARDS } as const;
      await engine.register({ name: "hazards", description: "Does what it is told.", ...more });
      const call = { name: "hazards", arguments: { act: "argument" } };
      const { error } = await engine.execute(call, { capabilities: {} });
      expect(error?.code).toBe("capability_denied");
    },
    TEST_MS,
  );
});

describe("a tool of each contract runs on worker machines", () => {
  const PYTHON = { capabilities: {} };
  test.each<[string, string | ToolLocation, string, Record<string, unknown>]>([
    ["Amplifier", "amplifier/my_tool.js", "my_tool", { required_param: "a" }],
    ["Strands", "strands/echo.js", "echo", { message: "hi" }],
    ["Xaibo", { path: "xaibo/weather.js", config: { api_key: "k" } }, "get_current_weather", { city: "Berlin" }],
    ["AgentSpace", "agentspace/greeting-tool-v1", "greeting-tool", { name: "Ada" }],
    ["Strands in Python", { path: "strands/python/echo.py", ...PYTHON }, "echo", { message: "hi" }],
    [
      "Xaibo in Python",
      { path: "xaibo/python/weather.py", config: { api_key: "k" } },
      "get_current_weather",
      { city: "Berlin" },
    ],
    ["AgentSpace in Python", "agentspace/python/greeting-tool-v1", "greeting-tool", { name: "Ada" }],
  ])(
    "as it does in this process: %s",
    async (_, location, name, args) => {
      const place = typeof location === "string" ? { path: location } : location;
      const found = { ...place, path: path.join(CONTRACTS, String(place.path)) };
      await using here = await createFleetEngine({
        workers: 1,
        executor: "threads",
        limits: LIMITS,
        maxLimits: LIMITS,
      });
      await here.register(found);
      const [only] = here.list();
      const tool = here.get(name) === undefined ? (only?.name ?? name) : name;
      await engine.register(found);
      try {
        const [near, far] = await Promise.all([here.execute({ name: tool, arguments: args }), run(tool, args)]);
        expect(near.error).toBeNull();
        expect(far.metadata.attempts).toBe(1);
        expect([far.success, far.output, far.error]).toEqual([near.success, near.output, near.error]);
      } finally {
        for (const { name: added } of here.list()) await engine.unregister(added);
      }
    },
    TEST_MS,
  );
});
