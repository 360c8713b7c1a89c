import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { parse } from "yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type CapabilityRequest,
  createEngine,
  defineCapability,
  type EngineOptions,
  type Remedy,
  type ToolDefinition,
} from "../../../src/glovebox/index.ts";

/*
 * Each remedy is pasted as a user would do it: the YAML below the configuration, the TypeScript into the definition. The
 * same call then succeeds, and nothing else is granted.
 */

const clock = defineCapability({ name: "clock", methods: { now: { handler: () => 1 } } });
const BASE: EngineOptions = { executor: "threads", workers: 1, capabilities: [clock] };

interface Setup {
  readonly tool: ToolDefinition;
  readonly options: EngineOptions;
}

async function callOf({ tool, options }: Setup) {
  await using engine = await createEngine({ ...BASE, ...options, tools: [tool] });
  const result = await engine.execute({ name: tool.name, arguments: {} });
  return { result, grants: engine.explain(tool.name)?.grants ?? [] };
}

/** Pastes remedies into a definition and options. */
function pasted({ tool, options }: Setup, remedies: readonly Remedy[]): Setup {
  let setup: Setup = { tool, options };
  for (const remedy of remedies) {
    if (remedy.kind === "tool") {
      const member = parse(`{${remedy.ts}}`) as Partial<ToolDefinition>;
      setup = { ...setup, tool: { ...setup.tool, ...member } };
    } else if (remedy.kind === "config") {
      const { policy, queue, ...rest } = parse(remedy.yaml) as EngineOptions;
      const rules = [...(setup.options.policy?.rules ?? []), ...(policy?.rules ?? [])];
      const merged = { queue: { ...setup.options.queue, ...queue }, policy: { rules } };
      setup = { ...setup, options: { ...setup.options, ...rest, ...merged } };
    }
  }
  return setup;
}

const SOURCES = {
  clock: "export default (_, { host }) => host.clock.now()",
  env: 'export default (_, { host }) => host.env.get("PATH")',
  kv: 'export default (_, { host }) => host.kv.get("a")',
  calls: 'export default async (_, { host }) => { for (let i = 0; i < 150; i++) await host.kv.get("a"); return null; }',
} as const;

function toolOf(source: string, capabilities?: CapabilityRequest): ToolDefinition {
  return { name: "t", description: "d", source, ...(capabilities === undefined ? {} : { capabilities }) };
}

describe("the remedies of capability_denied make the same call succeed", () => {
  test.each([
    ["a tool that does not ask for it", "clock", undefined],
    ["a tool that no rule allows it", "clock", { clock: true }],
    ["one name of a list", "env", { env: ["HOME"] }],
    ["a store", "kv", undefined],
  ] as const)("of %s", async (_, source, capabilities) => {
    const setup: Setup = { tool: toolOf(SOURCES[source], capabilities), options: {} };
    const { result, grants } = await callOf(setup);
    expect(result).toMatchObject({ success: false, error: { code: "capability_denied" } });
    const mended = pasted(setup, result.error?.remedies ?? []);
    const after = await callOf(mended);
    expect(after.result).toMatchObject({ success: true });
    const more = after.grants.filter(({ capability, granted }) =>
      grants.every((one) => one.capability !== capability || one.granted !== granted),
    );
    expect(more.map(({ capability }) => capability)).toEqual([source]);
  });
});

describe("a denied request", () => {
  let port: number;
  const server = createServer((_request, response) => void response.end("hello"));
  beforeAll(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    ({ port } = server.address() as AddressInfo);
  });
  afterAll(() => void server.close());

  const FETCH = 'export default async () => (await fetch("URL", { method: "POST", body: "x" })).text()';

  test("of a public origin is granted by its remedies, with this method and no other", async () => {
    const setup: Setup = {
      tool: toolOf(FETCH.replace("URL", "https://nowhere.invalid/path"), { fetch: { origins: ["https://a.example"] } }),
      options: { policy: { rules: [{ allow: { fetch: { origins: ["https://a.example"], methods: ["GET"] } } }] } },
    };
    const { result } = await callOf(setup);
    expect(result.error?.code).toBe("capability_denied");
    const { result: after, grants } = await callOf(pasted(setup, result.error?.remedies ?? []));
    // It is let through, and fails for the name, which nobody has.
    expect(after.error?.code).toBe("tool_error");
    expect(grants.map(({ granted }) => granted)).toEqual([
      expect.stringMatching(/^GET to https:\/\/a\.example /),
      expect.stringMatching(/^POST to https:\/\/nowhere\.invalid /),
    ]);
  });

  test("of a metadata or a local address has no remedy", async () => {
    for (const url of ["http://169.254.169.254/latest", `http://127.0.0.1:${port}/`, `http://localhost:${port}/`]) {
      const { result } = await callOf({ tool: toolOf(FETCH.replace("URL", url)), options: {} });
      expect(result.error?.code).toBe("capability_denied");
      expect(result.error?.remedies).toBeUndefined();
    }
  });
});

test("the remedy of capability_limit makes the same call succeed", async () => {
  const setup: Setup = {
    tool: toolOf(SOURCES.calls, { kv: true }),
    options: { policy: { rules: [{ allow: { kv: true } }] } },
  };
  const { result } = await callOf(setup);
  expect(result.error?.code).toBe("capability_limit");
  const after = await callOf(pasted(setup, result.error?.remedies ?? []));
  expect(after.result).toMatchObject({ success: true });
});

test("the remedy of queue_full makes the same calls succeed", async () => {
  const setup: Setup = { tool: toolOf("export default () => 1"), options: { queue: { maxQueued: 1, concurrency: 1 } } };
  const run = async ({ tool, options }: Setup) => {
    await using engine = await createEngine({ ...BASE, ...options, tools: [tool] });
    return await Promise.all([1, 2, 3].map(() => engine.execute({ name: "t", arguments: {} })));
  };
  const refused = (await run(setup)).find(({ success }) => !success);
  expect(refused?.error?.code).toBe("queue_full");
  const remedies = refused?.error?.remedies ?? [];
  expect(remedies).toMatchObject([{ kind: "config", pointer: "/queue/maxQueued", json: 2 }]);
  expect((await run(pasted(setup, remedies))).every(({ success }) => success)).toBe(true);
});
