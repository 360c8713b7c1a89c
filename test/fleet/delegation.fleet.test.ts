import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineCapability } from "../../src/broker/capabilities/custom.ts";
import type { CapabilityRequest } from "../../src/broker/capabilities/capability.ts";
import { createEngine, type Engine } from "../../src/engine/engine.ts";
import type { CapabilityEvent } from "../../src/broker/capability-event.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import { replayCall } from "../../src/engine/replay/replay-call.ts";
import { RedisConnection } from "../../src/store/redis/connection.ts";
import { MAIN } from "../service/served.ts";
import { startFleet, type TestFleet } from "./fleet.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

interface Origin extends AsyncDisposable {
  readonly origin: string;
  /** Methods and paths of what was asked. */
  readonly requests: string[];
}

/** A server of HTTP whose name machines look up as they like, and engines as their option says. */
async function serve(handler: Handler = (_, response) => void response.end("hello")): Promise<Origin> {
  const requests: string[] = [];
  const server: Server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    void handler(request, response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  const { port } = server.address() as AddressInfo;
  return { origin: `http://localhost:${port}`, requests, [Symbol.asyncDispose]: close };
}

interface World extends AsyncDisposable {
  readonly engine: Engine;
  /** Names that the server has looked up: it has to, before its first request to an origin. */
  readonly lookups: string[];
  readonly events: CapabilityEvent[];
  /** Registers a tool and calls it. */
  readonly call: (body: string, asked: CapabilityRequest, more?: object) => Promise<Outcome>;
}

interface Outcome {
  readonly output: unknown;
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean } | null;
  readonly metadata: { readonly attempts: number; readonly recording?: unknown };
}

async function open(
  fleet: TestFleet,
  allow: CapabilityRequest,
  onMachines: readonly ("fetch" | "kv")[],
  more: Partial<EngineOptions> = {},
): Promise<World> {
  const lookups: string[] = [];
  const events: CapabilityEvent[] = [];
  const lookup = (name: string) => {
    lookups.push(name);
    return Promise.resolve(["127.0.0.1"]);
  };
  const engine = await createEngine({
    executor: { kind: "queue", url: fleet.url, fleet: fleet.name },
    policy: { rules: [{ allow, onMachines }] },
    fetch: { lookup },
    kv: { url: `${fleet.url}/1` },
    ...more,
  });
  engine.on("capability:call", (event) => events.push(event));
  let tools = 0;
  const call = async (body: string, asked: CapabilityRequest, options: object = {}) => {
    const name = `tool-${++tools}`;
    const source = `export default async (args, { host }) => { ${body} }`;
    await engine.register({ name, description: "A tool.", capabilities: asked, source });
    return (await engine.execute({ name, arguments: {} }, options)) as unknown as Outcome;
  };
  return { engine, lookups, events, call, [Symbol.asyncDispose]: () => engine.close() };
}

const granted = (origin: string, more: object = {}): CapabilityRequest => ({
  fetch: { origins: [], privateOrigins: [origin], ...more },
});
const asking = (origin: string, more: object = {}): CapabilityRequest => ({ fetch: { origins: [origin], ...more } });
const GET = (origin: string, path = "") => `(await fetch("${origin}/${path}")).text()`;

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await startFleet(1);
}, 60_000);
afterAll(() => fleet[Symbol.asyncDispose]());

describe("what a rule lets worker machines fetch", () => {
  test("is requested by the machine, and told as if the server had done it", async () => {
    await using web = await serve();
    await using world = await open(fleet, granted(web.origin), ["fetch"]);
    const { output, error } = await world.call(`return ${GET(web.origin, "now")};`, asking(web.origin));
    expect({ output, error }).toEqual({ output: "hello", error: null });
    expect(world.lookups).toEqual([]);
    expect(web.requests).toEqual(["GET /now"]);
    expect(world.events).toMatchObject([
      { capability: "fetch", method: "request", step: 1, outcome: "ok", rules: [0], answerLength: expect.any(Number) },
    ]);
    expect(world.events[0]?.durationMs).toBeGreaterThan(0);
  });

  test("is the server's where the rule does not let machines", async () => {
    await using web = await serve();
    await using world = await open(fleet, granted(web.origin), []);
    expect((await world.call(`return ${GET(web.origin)};`, asking(web.origin))).output).toBe("hello");
    expect(world.lookups).toEqual(["localhost"]);
  });

  test("is the server's with a policy that comes later and does not let machines", async () => {
    await using web = await serve();
    await using world = await open(fleet, granted(web.origin), ["fetch"]);
    expect((await world.call(`return ${GET(web.origin)};`, asking(web.origin))).output).toBe("hello");
    expect(world.lookups).toEqual([]);
    world.engine.setPolicy({ rules: [{ allow: granted(web.origin) }] });
    expect((await world.call(`return ${GET(web.origin)};`, asking(web.origin))).output).toBe("hello");
    expect(world.lookups).toEqual(["localhost"]);
  });

  test("is the server's where it changes something", async () => {
    await using web = await serve();
    const methods = { methods: ["GET", "POST"] };
    await using world = await open(fleet, granted(web.origin, methods), ["fetch"]);
    const post = `return (await fetch("${web.origin}", { method: "POST" })).text();`;
    expect((await world.call(post, asking(web.origin, methods))).output).toBe("hello");
    expect(world.lookups).toEqual(["localhost"]);
  });

  test("is the server's where the call has secrets, and none of them comes to the machine", async () => {
    await using web = await serve(({ headers }, response) => void response.end(`${headers.authorization}`));
    const secrets = { KEY: { value: "correct-horse", origins: [web.origin] } };
    const allow = { ...granted(web.origin), secrets: ["KEY"] };
    await using world = await open(fleet, allow, ["fetch"], { secrets });
    const asked = { ...asking(web.origin), secrets: ["KEY"] };
    expect((await world.call(`return ${GET(web.origin)};`, asked)).output).toBe("undefined");
    expect(world.lookups).toEqual(["localhost"]);
    const tool = `return (await fetch("${web.origin}", { headers: { authorization: host.secrets.KEY } })).text();`;
    const { output } = await world.call(tool, asked);
    expect(output).toBe("glovebox.secret.KEY.");
  });

  test.each([
    ["an origin that is not granted", () => `return ${GET("http://127.0.0.1:9")};`],
    ["a placeholder of a secret", (at: string) => `return (await fetch("${at}/?k=glovebox.secret.KEY.")).text();`],
    ["a redirect to where nothing is granted", (at: string) => `return ${GET(at, "away")};`],
    ["too many requests", (at: string) => `for (let n = 0; n < 5; n++) await ${GET(at)};`],
    ["too many bytes", (at: string) => `return ${GET(at, "long")};`],
    ["too many bytes of a stream", (at: string) => `return ${GET(at, "stream")};`],
    [
      "too many requests while the first are under way",
      (at: string) =>
        `await Promise.all([1, 2, 3].map(async () => ${GET(at, "slow")}).concat(fetch("${at}", { method: "POST" })));`,
    ],
    [
      "too many requests of which some change something",
      (at: string) =>
        `for (let n = 0; n < 2; n++) await ${GET(at)}; for (const method of ["POST", "GET"]) await fetch("${at}", { method });`,
    ],
  ])("is refused with the words of the server: %s", async (_, tool) => {
    await using web = await serve(async ({ url }, response) => {
      if (url === "/away") return void response.writeHead(302, { location: "http://127.0.0.1:9/" }).end();
      if (url === "/slow") await delay(200);
      if (url === "/stream") {
        response.write("x".repeat(100));
        await delay(60);
      }
      response.end(url === "/" || url === "/slow" ? "short" : "x".repeat(2_000));
    });
    const bounds = { maxRequests: 3, maxBytes: 1_500, methods: ["GET", "POST"] };
    const errors = await Promise.all(
      [["fetch"] as const, []].map(async (onMachines) => {
        await using world = await open(fleet, granted(web.origin, bounds), onMachines);
        const { error } = await world.call(tool(web.origin), asking(web.origin, bounds));
        return error;
      }),
    );
    expect(errors[0]?.code).toMatch(/^capability_(?:denied|limit)$/);
    expect(errors[0]).toEqual(errors[1]);
  });

  test("is bounded as a whole, though requests wait for their turn on the machine while the server makes some", async () => {
    await using web = await serve(async (_, response) => {
      await delay(200);
      response.end("short");
    });
    const bounds = { maxRequests: 10, methods: ["GET", "POST"] };
    await using world = await open(fleet, granted(web.origin, bounds), ["fetch"]);
    const tool = `
      const asked = [];
      const ask = (method) => asked.push(fetch("${web.origin}", { method }).then(() => 1, () => 0));
      for (let n = 0; n < 20; n++) ask("GET");
      await new Promise((resolve) => setTimeout(resolve, 100));
      for (let n = 0; n < 10; n++) ask("POST");
      return (await Promise.all(asked)).reduce((sum, one) => sum + one);`;
    const { output } = await world.call(tool, asking(web.origin, bounds));
    expect(output).toBe(10);
    expect(web.requests).toEqual(Array.from({ length: 10 }, () => "GET /"));
  });

  test("is bounded as a whole, though a request on the machine is led on after the server has made some", async () => {
    const posted = Promise.withResolvers<void>();
    let posts = 0;
    await using web = await serve(async ({ method, url = "" }, response) => {
      if (method === "POST" && ++posts === 2) setTimeout(() => posted.resolve(), 100);
      if (method === "GET") {
        await posted.promise;
        response.writeHead(302, { location: `${url}x` });
      }
      response.end();
    });
    const bounds = { maxRequests: 4, methods: ["GET", "POST"] };
    await using world = await open(fleet, granted(web.origin, bounds), ["fetch"]);
    const tool = `
      const ask = (method) => fetch("${web.origin}/led", { method }).catch((error) => error);
      const led = ask("GET");
      await Promise.all([ask("POST"), ask("POST")]);
      throw await led;`;
    const { error } = await world.call(tool, asking(web.origin, bounds));
    expect(error?.code).toBe("capability_limit");
    expect(web.requests).toHaveLength(4);
  });

  test.each([
    ["calls", { capabilityCalls: 3 }],
    ["bytes", { capabilityBytes: 3_000 }],
  ])("counts in the call's limits, with all else that it asks: %s", async (_, limits) => {
    await using web = await serve((__, response) => void response.end("x".repeat(500)));
    const allow = { ...granted(web.origin), env: ["HOME"] };
    const errors = await Promise.all(
      [["fetch"] as const, []].map(async (onMachines) => {
        await using world = await open(fleet, allow, onMachines, { limits });
        const tool = `for (let n = 0; n < 9; n++) { await host.env.get("HOME"); await ${GET(web.origin)}; }`;
        const { error } = await world.call(tool, { ...asking(web.origin), env: ["HOME"] });
        return { error, done: world.events.filter(({ outcome }) => outcome === "ok").length };
      }),
    );
    expect(errors[0]?.error?.code).toBe("capability_limit");
    expect(errors[0]).toEqual(errors[1]);
  });

  test("comes in pieces where it is a stream", async () => {
    await using web = await serve(async (_, response) => {
      for (const part of ["one ", "two ", "three"]) {
        response.write(part);
        await delay(60);
      }
      response.end();
    });
    await using world = await open(fleet, granted(web.origin), ["fetch"]);
    expect((await world.call(`return ${GET(web.origin)};`, asking(web.origin))).output).toBe("one two three");
    expect(world.lookups).toEqual([]);
    expect(world.events.map(({ method }) => method)).toContain("read");
  });

  test("is aborted when its call ends", async () => {
    const closed = Promise.withResolvers<void>();
    await using web = await serve((_, response) => void response.once("close", () => closed.resolve()));
    await using world = await open(fleet, granted(web.origin), ["fetch"], { limits: { wallMs: 500 } });
    const { error } = await world.call(`return ${GET(web.origin)};`, asking(web.origin));
    expect(error?.code).toBe("wall_limit");
    await closed.promise;
  });

  test("is in recordings, which replay", async () => {
    await using web = await serve();
    await using world = await open(fleet, { ...granted(web.origin), env: ["HOME"] }, ["fetch"]);
    const tool = `return Promise.race([host.env.get("HOME").then(() => "env"), ${GET(web.origin)}, ${GET(web.origin)}]);`;
    const result = await world.call(tool, { ...asking(web.origin), env: ["HOME"] }, { record: true });
    const { recording } = result.metadata;
    expect((await replayCall(recording as Parameters<typeof replayCall>[0])).isSame).toBe(true);
  });
});

/** How a server reaches a machine's store, with no rights there but to see which one it is: so nobody but the machine can use it. */
interface NarrowAccess extends AsyncDisposable {
  readonly url: string;
  /** Resolves when the server leaves calls to the machine. */
  used(world: World): Promise<void>;
  /** Gives it all rights. */
  widen(): Promise<unknown>;
}

async function accessTo(url: string): Promise<NarrowAccess> {
  const connection = RedisConnection.open(url, "test");
  const { client } = connection;
  await client.call("ACL", "SETUSER", "server", "reset", "on", ">password", "+@all", "~glovebox:kv:identity");
  return {
    url: url.replace("redis://", "redis://server:password@"),
    used: async (world) => {
      const ask = async () => (await world.call(`return host.kv.get("nothing");`, { kv: true })).error?.code;
      await expect.poll(ask, { timeout: 20_000 }).toBeUndefined();
      world.events.length = 0;
    },
    widen: () => client.call("ACL", "SETUSER", "server", "~*"),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

describe("kv in Redis on a worker machine", () => {
  async function versionsIn(database: number, { url } = fleet): Promise<number> {
    const connection = RedisConnection.open(`${url}/${database}`, "test");
    const keys = await connection.client.keys("glovebox:kv:*:version");
    await connection.close();
    return keys.length;
  }

  test("is used there", async () => {
    await using own = await startFleet(1, { kv: `${fleet.url}/2` });
    await using access = await accessTo(`${fleet.url}/2`);
    await using world = await open(own, { kv: true }, ["kv"], { kv: { url: access.url } });
    await access.used(world);
    const tool = `await host.kv.set("a", 1); await host.kv.set("a", 2); await host.kv.delete("b"); return [await host.kv.get("a"), (await host.kv.list()).keys.length];`;
    const { output, error } = await world.call(tool, { kv: true });
    expect({ output, error }).toEqual({ output: [2, 1], error: null });
    expect(await versionsIn(2)).toBe(1);
    expect(world.events.map(({ method, outcome }) => `${method} ${outcome}`)).toEqual([
      "set ok",
      "set ok",
      "delete ok",
      "get ok",
      "list ok",
    ]);
  }, 60_000);

  test("is where the configuration of the machine says", async () => {
    await using own = await startFleet(0);
    await using folder = await mkdtempDisposable(join(tmpdir(), "glovebox-delegation-"));
    const file = join(folder.path, "glovebox.config.yaml");
    const executor = `{ kind: queue, url: "${own.url}", fleet: ${own.name} }`;
    await writeFile(file, `executor: ${executor}\nkv: { url: "${own.url}/2" }\nmachine: { port: 0 }\n`);
    const worker = spawn(process.execPath, [...MAIN, "worker", "--workers", "1", "--config", file], { stdio: "pipe" });
    try {
      await once(createInterface(worker.stdout), "line");
      await using access = await accessTo(`${own.url}/2`);
      await using world = await open(own, { kv: true }, ["kv"], { kv: { url: access.url } });
      await access.used(world);
      expect((await world.call(`await host.kv.set("a", 1); return host.kv.get("a");`, { kv: true })).output).toBe(1);
      expect(await versionsIn(2, own)).toBe(1);
    } finally {
      const ended = once(worker, "exit");
      worker.kill("SIGKILL");
      await ended;
    }
  }, 60_000);

  test("is the server's where the machine has another store, and the value is in the server's", async () => {
    await using own = await startFleet(1, { kv: `${fleet.url}/4` });
    await using world = await open(own, { kv: true }, ["kv"], { kv: { url: `${fleet.url}/5` } });
    const set = async () => (await world.call(`return host.kv.set("a", 1);`, { kv: true })).error;
    // Also when both have come to know which stores they have.
    for (let n = 0; n < 5; n++) {
      expect(await set()).toBeNull();
      await delay(100);
    }
    expect([await versionsIn(4), await versionsIn(5)]).toEqual([0, 5]);
  }, 60_000);

  test("is the server's where the machine knows of none", async () => {
    await using world = await open(fleet, { kv: true }, ["kv"], { kv: { url: `${fleet.url}/3` } });
    expect((await world.call(`await host.kv.set("a", 1); return host.kv.get("a");`, { kv: true })).output).toBe(1);
    expect(await versionsIn(3)).toBe(1);
  });
});

describe("a machine that is killed", () => {
  /** Replaces the only machine of a fleet by another when something is asked for. */
  function replacing(own: TestFleet, isWhen: (url: string) => boolean): Handler {
    let isDone = false;
    return async ({ url = "" }, response) => {
      if (!isDone && isWhen(url)) {
        isDone = true;
        const [first] = own.machines;
        await own.add({ kv: own.url });
        await first?.end("SIGKILL");
      }
      response.end(url);
    };
  }

  test("leaves calls that end right, with each write done once", async () => {
    await using own = await startFleet(0);
    await own.add({ kv: own.url });
    await using access = await accessTo(own.url);
    await using web = await serve(replacing(own, (url) => url === "/5"));
    const allow = { ...granted(web.origin), kv: true as const };
    await using world = await open(own, allow, ["fetch", "kv"], { kv: { url: access.url } });
    await access.used(world);
    await access.widen();
    const tool = `
      const versions = [];
      for (let n = 0; n < 10; n++) {
        const [path, version] = await Promise.all([${GET(web.origin, '" + n + "')}, host.kv.set("n", n)]);
        versions.push([path, version]);
      }
      return versions;`;
    const { output, error, metadata } = await world.call(tool, { ...asking(web.origin), kv: true });
    expect(error).toBeNull();
    expect(output).toEqual(Array.from({ length: 10 }, (__, n) => [`/${n}`, n + 1]));
    expect(metadata.attempts).toBe(2);
  }, 60_000);

  test("leaves calls that take the same way again, whoever had been first", async () => {
    await using own = await startFleet(0);
    await own.add({ kv: own.url });
    await using access = await accessTo(own.url);
    await using web = await serve(replacing(own, (url) => url === "/20"));
    const done: unknown[] = [];
    const notes = defineCapability({
      name: "notes",
      methods: {
        wait: { handler: () => delay(4 * Math.random(), null) },
        add: { handler: (args: unknown) => void done.push(args) },
      },
    });
    const allow = { ...granted(web.origin, { maxRequests: 100 }), kv: true as const, notes: true };
    const options = { kv: { url: access.url }, capabilities: [notes] };
    await using world = await open(own, allow, ["fetch", "kv"], options);
    await access.used(world);
    await access.widen();
    const tool = `
      const way = [];
      for (let n = 0; n < 30; n++) {
        const first = await Promise.race([${GET(web.origin, '" + n + "')}.then(() => "web"), host.notes.wait(null).then(() => "notes")]);
        way.push(first);
        if (first === "web") await host.notes.add(n);
        else await host.kv.set("n", n);
      }
      return way;`;
    const asked = { ...asking(web.origin, { maxRequests: 100 }), kv: true as const, notes: true };
    const { output, error } = await world.call(tool, asked);
    expect(error).toBeNull();
    const way = output as string[];
    expect(done).toEqual(way.flatMap((first, n) => (first === "web" ? [n] : [])));
  }, 60_000);

  test("takes with it what a call had half read, which ends so that it can be tried again", async () => {
    await using own = await startFleet(1);
    await using web = await serve(async ({ url }, response) => {
      if (url === "/kill") {
        const [first] = own.machines;
        await own.add();
        await first?.end("SIGKILL");
        return void response.end();
      }
      response.write("half");
    });
    await using world = await open(own, granted(web.origin), ["fetch"]);
    const tool = `
      const reader = (await fetch("${web.origin}/half")).body.getReader();
      await reader.read();
      await fetch("${web.origin}/kill");
      return (await reader.read()).done;`;
    const { error } = await world.call(tool, asking(web.origin));
    expect(error).toMatchObject({ code: "executor_lost", retryable: true });
  }, 60_000);
});
