import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readConfiguration } from "../../src/server/config/configuration.ts";
import { digestOf } from "../../src/server/config/digest.ts";
import { settingsOf } from "../../src/server/config/effective.ts";
import { readEnvironment } from "../../src/server/config/environment.ts";
import { noticeOf, noticesOf } from "../server/served.ts";
import { createEngine } from "../../src/glovebox/index.ts";
import { fleetMetrics } from "../server/deploy/fleet-files.ts";
import { MAIN } from "../server/served.ts";
import { connectTo, freePort, startRedis } from "../redis-server.ts";

const STAND_IN = fileURLToPath(new URL("programs/stands-in.ts", import.meta.url));
const SECRET = "hush-hush-hush-hush";
const READY = /^glovebox worker (\S+) serves fleet (\S+); metrics on (http:\S+)\/metrics$/;
/** Until the machine itself is there. */
const IS_BUILT = !readFileSync(new URL("../../src/fleet/machine/machine.ts", import.meta.url), "utf8").includes(
  "not built",
);

const soon = { timeout: 60_000, interval: 100 };

let folder: string;
let children: ChildProcess[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-worker-"));
  children = [];
});

afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
  rmSync(folder, { recursive: true });
});

interface Worker {
  readonly child: ChildProcess;
  readonly errors: readonly string[];
  /** Its code, or the signal that ended it. */
  readonly exit: Promise<number | string | null>;
  /** The line that says that it is at work. */
  line(): Promise<string>;
  said(what: RegExp): Promise<void>;
}

function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Worker {
  const child = spawn(process.execPath, args, { cwd: folder, env: { ...process.env, ...env }, stdio: "pipe" });
  children.push(child);
  const errors: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => errors.push(noticeOf(line)));
  const lines = once(createInterface({ input: child.stdout }), "line") as Promise<[string]>;
  // All that it said has been read by then.
  const exit = once(child, "close").then(([code, signal]) => (code ?? signal) as number | string | null);
  const said = (what: RegExp): Promise<void> =>
    expect.poll(() => errors.some((one) => what.test(one)), { timeout: 60_000, interval: 20 }).toBe(true);
  return { child, errors, exit, said, line: async () => (await lines)[0] };
}

const standIn = (...args: string[]): Worker => run(["--no-warnings", STAND_IN, ...args]);

async function worker(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<readonly [unknown, string]> {
  const child = spawn(process.execPath, [...MAIN, "worker", ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  children.push(child);
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  return [code, noticesOf(said)];
}

describe("the process of a worker machine", () => {
  test("says in one line which machine it is, whom it serves, and where its metrics are", async () => {
    const [, id, fleet, url] = READY.exec(await standIn("").line()) ?? [];
    expect([id, fleet]).toEqual(["m1", "blue"]);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  test.each(["SIGTERM", "SIGINT"] as const)("drains, closes and ends well at %s", async (signal) => {
    const one = standIn("", "1234");
    await one.line();
    one.child.kill(signal);
    expect(await one.exit).toBe(0);
    expect(one.errors.slice(-3)).toEqual(["glovebox: stopping; a second signal stops at once", "drain 1234", "close"]);
  });

  test("is not ready while it drains, and alive", async () => {
    const one = standIn("drains-slowly");
    const [, , , url] = READY.exec(await one.line()) ?? [];
    one.child.kill("SIGTERM");
    await one.said(/^drain/);
    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([503, { status: "draining" }]);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    one.child.stdin?.end("go\n");
    expect(await one.exit).toBe(0);
  });

  test("ends at once at another signal", async () => {
    const one = standIn("never-drains");
    await one.line();
    one.child.kill("SIGTERM");
    await one.said(/^drain/);
    one.child.kill("SIGINT");
    expect(await one.exit).toBe(130);
  });

  test("ends at once where it is told to before there is a machine", async () => {
    const one = standIn("never-starts");
    await one.said(/^begun/);
    one.child.kill("SIGTERM");
    expect(await one.exit).toBe(0);
  });

  test("says what went wrong when it closed, and ends as failed all the same", async () => {
    const one = standIn("fails");
    await one.line();
    one.child.kill("SIGTERM");
    await one.said(/^glovebox: it cannot close$/);
    expect(await one.exit).toBe(1);
  });
});

describe("glovebox worker", () => {
  test("asks where Redis is", async () => {
    const [code, said] = await worker([]);
    expect(code).toBe(2);
    expect(said).toMatch(/^glovebox: say where the fleet's Redis is: --redis URL, .*executor\.url$/m);
  });

  test.each<[string, string[], NodeJS.ProcessEnv, RegExp]>([
    ["an address of Redis that is invalid", ["--redis", `http://:${SECRET}@a`], {}, /executor\.url: the URL of Redis/],
    ["a fleet that cannot be called so", ["--redis", "redis://a", "--fleet", "{a}"], {}, /executor\.fleet: /],
    [
      "a secret that is too short",
      ["--redis", "redis://a"],
      { GLOVEBOX_FLEET_SECRET: "hush" },
      /GLOVEBOX_FLEET_SECRET: .* at least 16/,
    ],
    ["slots that are no number", ["--redis", "redis://a", "--slots", "many"], {}, /whole number/],
    [
      "an address that it cannot listen on",
      ["--redis", "redis://a", "--host", "192.0.2.1"],
      {},
      /cannot listen on 192/,
    ],
  ])("refuses %s, and shows nothing secret", async (_, args, env, why) => {
    const [code, said] = await worker(args, env);
    expect(code).toBe(2);
    expect(said).toMatch(why);
    expect(said).not.toContain("hush");
  });

  test("refuses a port that is taken", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const [code, said] = await worker(["--redis", "redis://a", "--port", `${port}`]);
    taken.close();
    expect([code, said]).toEqual([
      2,
      expect.stringContaining(`cannot listen on 127.0.0.1, port ${port}: EADDRINUSE; another program listens there`),
    ]);
  });

  test.skipIf(!IS_BUILT)("serves a fleet with the configuration of its servers, and ends well", async () => {
    await using redis = await startRedis();
    const config = join(folder, "glovebox.config.yaml");
    writeFileSync(
      config,
      `executor: { kind: queue, url: "${redis.url}", fleet: blue }\nport: 1\nmachine: { port: 0 }\n`,
    );
    await redis.stop();
    const one = run([...MAIN, "worker", "--workers", "1", "--slots", "3"], { GLOVEBOX_FLEET_SECRET: SECRET });
    // Nothing listens yet: it says so at once, and goes on as soon as somebody does.
    await one.said(/Redis cannot be reached \(ECONNREFUSED\): this machine takes no calls; it is tried again; check/);
    await redis.start();
    const [, id, fleet, url] = READY.exec(await one.line()) ?? [];
    expect(fleet).toBe("blue");
    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([200, { status: "ready", machine: { id, slots: 3 } }]);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const { values } = await readConfiguration(config, readEnvironment({ GLOVEBOX_FLEET_SECRET: SECRET }));
    for (const line of [
      "glovebox_machine_slots 3",
      "glovebox_machine_busy_slots 0",
      "glovebox_machine_redis_up 1",
      `glovebox_config_info{digest="${digestOf(settingsOf(values), config)}"} 1`,
    ]) {
      expect(metrics).toContain(`\n${line}\n`);
    }
    expect(metrics).toMatch(/^glovebox_build_info\{version="\S+",node="\S+",v8="\S+"\} 1$/m);
    expect(metrics).toMatch(/^process_open_fds \d/m);
    expect(metrics).toMatch(/^glovebox_executor_rss_bytes /m);
    expect(typesIn(metrics, "glovebox_machine_")).toEqual(saidOf("glovebox_machine_"));
    const readyz = async (): Promise<unknown> => (await fetch(`${url}/readyz`)).json();
    const waiting = (reason: RegExp) => ({ status: "waiting for Redis", reason: expect.stringMatching(reason) });
    await redis.stop();
    await expect.poll(readyz, soon).toMatchObject(waiting(/\(ECONNREFUSED\): check that it runs/));
    await redis.start();
    await expect.poll(readyz, soon).toMatchObject({ status: "ready" });
    await one.said(/Redis can be used again/);
    await using admin = await connectTo(redis.url);
    await admin.client.config("SET", "maxmemory", "1");
    await expect.poll(readyz, soon).toMatchObject(waiting(/^Redis is full: its maxmemory is reached \(OOM\): raise/));
    await one.said(/Redis is full: its maxmemory is reached \(OOM\): this machine takes no calls/);
    await admin.client.config("SET", "maxmemory", "0");
    await expect.poll(readyz, soon).toMatchObject({ status: "ready" });
    one.child.kill("SIGTERM");
    expect(await one.exit).toBe(0);
    expect(one.errors.join("\n")).not.toContain("hush");
  });

  test.each([
    [
      "a wrong password",
      true,
      (url: string) => url.replace("//", "//:hush-hush@"),
      /refused the login \(WRONGPASS\): check/,
    ],
    ["a database that Redis does not have", false, (url: string) => `${url}/99`, /does not have the database/],
    [
      "a user who may do nothing",
      false,
      (url: string) => url.replace("//", "//weak:hush-hush@"),
      /does not permit \w+ to/,
    ],
  ])("ends with 2 at %s, and says why", async (_, isClosed, urlOf, why) => {
    await using redis = await startRedis();
    await using admin = await connectTo(redis.url);
    await admin.client.acl("SETUSER", "weak", "on", ">hush-hush", "+info");
    if (isClosed) await admin.client.config("SET", "requirepass", "another");
    const [code, said] = await worker(["--workers", "1", "--port", "0", "--redis", urlOf(redis.url)]);
    expect([code, said]).toEqual([2, expect.stringMatching(why)]);
    expect(said).not.toContain("hush");
  });

  test.skipIf(!IS_BUILT)("runs the calls of a server, whose scrape shows the fleet", async () => {
    await using redis = await startRedis();
    const one = run([...MAIN, "worker", "--workers", "1", "--port", "0", "--redis", redis.url]);
    await one.line();
    await using engine = await createEngine({
      executor: { kind: "queue", url: redis.url },
      tools: [{ name: "add", description: "adds", source: "export default ({ a, b }) => a + b;" }],
    });
    expect(await engine.execute({ name: "add", arguments: { a: 1, b: 2 } })).toMatchObject({ output: 3 });
    const metrics = await engine.metrics();
    expect(typesIn(metrics, "glovebox_fleet_")).toEqual(saidOf("glovebox_fleet_"));
    expect(metrics).toMatch(/^glovebox_fleet_machines 1$/m);
    expect(metrics).toMatch(/^glovebox_fleet_wait_seconds_count 1$/m);
  });

  test.skipIf(!IS_BUILT)("is waited for by a server that answers its probes on its port meanwhile", async () => {
    await using redis = await startRedis();
    writeFileSync(
      join(folder, "glovebox.config.yaml"),
      `executor: { kind: queue, url: "${redis.url}" }\ntools: []\nmachine: { port: 0 }\n`,
    );
    const port = await freePort();
    const server = run([...MAIN, "serve", "--port", `${port}`]);
    const probe = async (path: string): Promise<readonly unknown[]> => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => null);
      return response === null ? [] : [response.status, await response.json()];
    };
    const starting = { status: "starting", reason: expect.stringContaining("waits for") };
    await expect.poll(() => probe("/readyz"), soon).toEqual([503, starting]);
    expect(await probe("/healthz")).toEqual([200, { status: "alive" }]);
    await run([...MAIN, "worker", "--workers", "1"]).line();
    expect(await server.line()).toBe(`glovebox listening on http://127.0.0.1:${port}`);
    await expect.poll(() => probe("/readyz"), soon).toMatchObject([200, { status: "ready" }]);
    server.child.kill("SIGTERM");
    expect(await server.exit).toBe(0);
  });
});

/** Metrics that a scrape shows, and that their page names, by how they begin. */
function typesIn(scrape: string, start: string): readonly string[] {
  const types = [...scrape.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = "", type = ""]) => `${name} ${type}`);
  return types.filter((one) => one.startsWith(start)).toSorted();
}

function saidOf(start: string): readonly string[] {
  const said = fleetMetrics.map(({ name, type }) => `${name} ${type}`);
  return said.filter((one) => one.startsWith(start)).toSorted();
}
