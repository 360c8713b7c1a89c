import { describe, expect, test } from "vitest";
import { defineCapability } from "../../src/capabilities/custom.ts";
import { createEngine, type Engine } from "../../src/engine.ts";
import type { EngineOptions } from "../../src/options.ts";
import { serve, type TestServer } from "../unit/capabilities/fetch/server.ts";

const VALUE = "a value that nobody may see";

/** A tool that sends one request, with what it is called with in place of the defaults. */
const source = `
  const DEFAULTS = { id: 1, method: "GET", headers: [], body: null, redirect: "follow" };
  export default async (request, { host }) => await host.fetch.request({ ...DEFAULTS, ...request });
`;

async function open(server: TestServer, options: EngineOptions = {}): Promise<Engine> {
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    policy: {
      rules: [{ allow: { fetch: { origins: [], privateOrigins: [server.origin] }, secrets: ["KEY"], leaky: true } }],
    },
    secrets: { KEY: { value: VALUE, origins: [server.origin] } },
    ...options,
  });
  const capabilities = { fetch: { origins: [server.origin] }, secrets: ["KEY"], leaky: true };
  await engine.register({ name: "get", description: "Gets.", source, capabilities });
  return engine;
}

describe("a tool's request", () => {
  test("goes through the engine, with the secret that it never sees", async () => {
    await using server = await serve((request, response) => response.end(`got ${String(request.headers["x-key"])}`));
    await using engine = await open(server);
    const events: unknown[] = [];
    engine.on("capability:call", (event) => events.push(event));
    const headers = [["x-key", "glovebox.secret.KEY."]];
    const result = await engine.execute({ name: "get", arguments: { url: server.origin, headers } });
    expect(result.output).toMatchObject({
      status: 200,
      body: { part: { text: "got glovebox.secret.KEY." }, more: false },
    });
    expect(server.seen[0]?.headers["x-key"]).toBe(VALUE);
    expect(events).toHaveLength(1);
    expect(JSON.stringify([events, result])).not.toContain(VALUE);
  });

  test("that is refused tells the tool what is granted, and how to grant more", async () => {
    await using server = await serve((_request, response) => response.end());
    await using engine = await open(server);
    const { error } = await engine.execute({ name: "get", arguments: { url: "https://evil.example/a?b=c" } });
    expect(error?.code).toBe("capability_denied");
    expect(error?.message).toContain("GET https://evil.example/a was not granted");
    expect(error?.message).toContain(`granted: GET, HEAD to ${server.origin}`);
    expect(error?.message).toContain('add "https://evil.example" to fetch.origins');
    expect(error?.message).not.toContain("b=c");
  });

  test("is cut off with its call", async () => {
    await using server = await serve(() => {});
    await using engine = await open(server);
    const call = { name: "get", arguments: { url: server.origin } };
    const { error } = await engine.execute(call, { limits: { wallMs: 300 } });
    expect(error?.code).toBe("wall_limit");
    expect(server.seen).toHaveLength(1);
    await expect.poll(() => server.open()).toBe(0);
  });

  test("is cut off with the engine, which closes without waiting for servers", async () => {
    await using server = await serve((_request, response) => response.end("ok"));
    const engine = await open(server);
    expect((await engine.execute({ name: "get", arguments: { url: server.origin } })).success).toBe(true);
    await engine.close({ drainMs: 0 });
    await expect.poll(() => server.open()).toBe(0);
  });
});

test("a message of any capability is without secrets, also where a cut would halve one", async () => {
  await using server = await serve((_request, response) => response.end());
  const leaky = defineCapability({
    name: "leaky",
    methods: {
      fail: {
        handler: ({ padding }: { readonly padding: number }) => {
          throw new Error(`${"x".repeat(padding)} ${VALUE} /${VALUE}`);
        },
      },
    },
  });
  await using engine = await open(server, { capabilities: [leaky] });
  await engine.register({
    name: "leak",
    description: "Leaks.",
    source: "export default async (args, { host }) => await host.leaky.fail(args)",
    capabilities: { leaky: true },
  });
  for (const padding of [0, 1_950, 1_960, 1_970, 1_980, 1_990]) {
    const { error } = await engine.execute({ name: "leak", arguments: { padding } });
    expect(error?.code).toBe("capability_failed");
    expect(error?.message).not.toContain("a value");
  }
});

test("an engine whose secret is too short to be kept out of answers does not start", async () => {
  const secrets = { KEY: { value: "short", origins: ["https://api.example.com"] } };
  await expect(createEngine({ workers: 1, executor: "threads", secrets })).rejects.toThrow(
    "secrets.KEY is not 8 to 16384 characters long",
  );
});
