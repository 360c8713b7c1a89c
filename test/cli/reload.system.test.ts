import { mkdirSync, mkdtempSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  createEngine,
  type Engine,
  GloveboxError,
  type ToolDefinition,
  type ToolResult,
} from "../../src/glovebox/index.ts";
import { createKey } from "../../src/server/access/secret.ts";
import { said, serve } from "../server/served.ts";

/** Two tools that ask for a variable at once, and after a while. */
const ASKING = (when: "at once" | "later"): ToolDefinition => ({
  name: when === "later" ? "later" : "asks",
  description: "Asks for a variable.",
  source: `export default async ({ ms = 0 }, { host }) => {
    if (ms > 0) await new Promise((done) => setTimeout(done, ms));
    return host.env.get("REGION");
  }`,
  capabilities: { env: ["REGION"] },
});
const ALLOWED = { rules: [{ allow: { env: ["REGION"] } }] };
const DENIED = { rules: [] };

const saying = (name: string, text: string): ToolDefinition => ({
  name,
  description: "Says something.",
  source: `export default () => ${JSON.stringify(text)}`,
});

const OPTIONS = { workers: 1, executor: "threads" } as const;

describe("an engine that takes other options", () => {
  test("has the tools of these, those that were registered beside them, and no others", async () => {
    await using engine = await createEngine({
      ...OPTIONS,
      tools: [saying("same", "1"), saying("old", "1"), saying("gone", "1")],
    });
    await engine.register(saying("beside", "1"));
    const changed = await engine.reconfigure({
      ...OPTIONS,
      tools: [saying("same", "1"), saying("old", "2"), saying("new", "2")],
    });
    expect(changed).toEqual({
      registered: ["new"],
      replaced: ["old"],
      removed: ["gone"],
      isPolicyChanged: false,
      areLimitsChanged: false,
      needRestart: [],
    });
    expect(engine.list().map(({ name }) => name)).toEqual(["beside", "new", "old", "same"]);
    expect((await engine.execute({ name: "old", arguments: {} })).output).toBe("2");
  });

  test("refuses a name that is in two of its places, where neither is in the other", async () => {
    const folder = mkdtempSync(join(tmpdir(), "glovebox-places-"));
    const places = ["one", "two"].map((name) => join(folder, name));
    for (const place of places) {
      mkdirSync(place);
      writeFileSync(join(place, "add.js"), `export const spec = { description: "Adds." }; export default () => 1;`);
    }
    const [one = "", two = ""] = places;
    await using engine = await createEngine({ ...OPTIONS, tools: [one, { path: join(one, "add.js"), tags: ["own"] }] });
    await expect(engine.reconfigure({ ...OPTIONS, tools: places })).rejects.toThrow(
      `the tool "add" is in two places: ${one}, and ${two}`,
    );
    expect(engine.get("add")?.tags).toEqual(["own"]);
    rmSync(folder, { recursive: true });
  });

  test("leaves a tool that is the same as it is, with its isolates", async () => {
    await using engine = await createEngine({ ...OPTIONS, tools: [saying("same", "1")] });
    const info = engine.get("same");
    await engine.reconfigure({ ...OPTIONS, tools: [saying("same", "1")] });
    expect(engine.get("same")).toBe(info);
  });

  test("gives tools other limits, and calls another ceiling", async () => {
    await using engine = await createEngine({ ...OPTIONS, tools: [saying("same", "1")] });
    const { areLimitsChanged, replaced } = await engine.reconfigure({
      ...OPTIONS,
      tools: [saying("same", "1")],
      limits: { cpuMs: 123 },
      maxLimits: { wallMs: 456 },
    });
    expect([areLimitsChanged, replaced]).toEqual([true, ["same"]]);
    expect(engine.get("same")?.limits).toMatchObject({ cpuMs: 123, wallMs: 456 });
    expect(engine.explain("same")?.limits).toContainEqual({ limit: "wallMs", value: 456, from: "maxLimits" });
  });

  test.each([
    ["a tool", { tools: [saying("new", "2"), { ...saying("bad", "2"), source: "export default (" }], policy: DENIED }],
    ["the policy", { tools: [saying("new", "2")], policy: { rules: [{ allow: { env: 5 } }] } }],
    ["a limit", { tools: [saying("new", "2")], limits: { cpuMs: -1 } }],
    ["an option", { tools: [saying("new", "2")], queue: { concurrency: 0 } }],
  ])("takes nothing of them where %s is wrong", async (_, options) => {
    await using engine = await createEngine({ ...OPTIONS, tools: [ASKING("at once")], policy: ALLOWED });
    const refused = await engine.reconfigure({ ...OPTIONS, ...options } as never).catch((error: unknown) => error);
    expect(refused).toSatisfy(
      (error) => error instanceof GloveboxError || error instanceof TypeError || error instanceof RangeError,
    );
    expect(engine.list().map(({ name }) => name)).toEqual(["asks"]);
    expect((await engine.execute({ name: "asks", arguments: {} })).success).toBe(true);
  });

  test("gives the queue other limits without a restart", async () => {
    await using engine = await createEngine({ ...OPTIONS, tools: [saying("same", "1")] });
    const queue = { perTenant: 1, maxQueued: 5 };
    const changed = await engine.reconfigure({ ...OPTIONS, tools: [saying("same", "1")], queue });
    expect(changed).toMatchObject({ areLimitsChanged: true, replaced: [], needRestart: [] });
    expect(await engine.metrics()).toMatch(/^glovebox_queue_capacity 5$/m);
  });

  test("names those that need a restart", async () => {
    await using engine = await createEngine(OPTIONS);
    const { needRestart } = await engine.reconfigure({ ...OPTIONS, workers: 2, fetch: { connectMs: 5 } });
    expect(needRestart).toEqual(["workers", "fetch"]);
  });

  test("takes them one after the other", async () => {
    await using engine = await createEngine(OPTIONS);
    const texts = ["1", "2", "3", "4"];
    const all = texts.map((text) =>
      engine.reconfigure({ ...OPTIONS, tools: [saying("tool", text), saying(`t${text}`, text)] }),
    );
    const changes = await Promise.all(all);
    expect(changes.map(({ removed }) => removed)).toEqual([[], ["t1"], ["t2"], ["t3"]]);
    expect(engine.list().map(({ name }) => name)).toEqual(["t4", "tool"]);
  });

  test("tells of it", async () => {
    await using engine = await createEngine(OPTIONS);
    const heard: unknown[] = [];
    engine.on("engine:reconfigure", (event) => heard.push(event));
    expect(heard).toEqual([await engine.reconfigure({ ...OPTIONS, tools: [saying("new", "1")] })]);
  });
});

describe("another policy", () => {
  async function engineWith(policy: typeof ALLOWED | typeof DENIED): Promise<Engine> {
    return createEngine({ ...OPTIONS, policy, tools: [ASKING("at once"), ASKING("later")] });
  }

  test("is for the calls that begin under it, and not for those that have begun", async () => {
    await using engine = await engineWith(ALLOWED);
    let onStart: () => void = () => undefined;
    const started = new Promise<void>((resolve) => (onStart = resolve));
    engine.on("tool:pre", () => setImmediate(onStart));
    const begun = engine.execute({ name: "later", arguments: { ms: 200 } });
    await started;
    engine.setPolicy(DENIED);
    expect((await engine.execute({ name: "asks", arguments: {} })).error?.code).toBe("capability_denied");
    expect((await begun).success).toBe(true);
  });

  test("is for those that wait, too: they have not begun", async () => {
    await using engine = await createEngine({
      ...OPTIONS,
      policy: ALLOWED,
      tools: [ASKING("at once"), ASKING("later")],
      queue: { concurrency: 1 },
    });
    const first = engine.execute({ name: "later", arguments: { ms: 200 } });
    const waiting = engine.execute({ name: "asks", arguments: {} });
    engine.setPolicy(DENIED);
    expect((await first).success).toBe(true);
    expect((await waiting).error?.code).toBe("capability_denied");
  });

  test("that is invalid changes nothing", async () => {
    await using engine = await engineWith(ALLOWED);
    expect(() => engine.setPolicy({ rules: [{ allow: { env: 5 } }] } as never)).toThrow("policy.rules[0].allow.env");
    expect((await engine.execute({ name: "asks", arguments: {} })).success).toBe(true);
  });
});

describe("glovebox serve", () => {
  let folder: string;

  const module = (text: string): string =>
    `export const spec = { name: "says", description: "Says what it is.", capabilities: { env: ["REGION"] } };
     export default async (_, { host }) => ({ version: ${JSON.stringify(text)}, region: await host.env.get("REGION").catch(() => null) });`;

  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);

  const config = (at: number): string =>
    `tools: [./tools]\nlimits: { cpuMs: ${1_000 + at} }\npolicy: { rules: ${at % 2 === 0 ? "[{ allow: { env: [REGION] } }]" : "[]"} }\n`;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "glovebox-reload-"));
    mkdirSync(join(folder, "tools"));
    write("tools/says.js", module("v0"));
    write("glovebox.config.yaml", config(0));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const start = (...args: string[]) => serve(args, { cwd: folder, env: { REGION: "eu" } });

  async function call(url: string, name = "says"): Promise<{ status: number; result: ToolResult }> {
    const response = await fetch(`${url}/v1/execute`, {
      method: "POST",
      body: JSON.stringify({ name, arguments: {} }),
      headers: { "content-type": "application/json" },
    });
    return { status: response.status, result: (await response.json()) as ToolResult };
  }

  test("reads tools and policy again twenty times under load, and loses no call", { timeout: 120_000 }, async () => {
    await using server = await start();
    let isOver = false;
    const outcomes = new Map<string, number>();
    const load = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const { status, result } = await call(server.url);
        const { version, region } = (result.output ?? {}) as { version?: string; region?: string | null };
        const outcome = `${status} ${result.success} ${typeof version} ${region ?? "none"}`;
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    });
    for (let at = 1; at <= 20; at++) {
      write("tools/says.js", module(`v${at}`));
      write("glovebox.config.yaml", config(at));
      const from = server.errors.length;
      server.signal("SIGHUP");
      await said(server, /^glovebox: reloaded: tools changed: says; another policy; other limits$/, from);
      // What begins now is the new tool's, under the new policy.
      const { output } = (await call(server.url)).result;
      expect(output).toEqual({ version: `v${at}`, region: at % 2 === 0 ? "eu" : null });
    }
    isOver = true;
    await Promise.all(load);
    expect([...outcomes.keys()].sort()).toEqual(["200 true string eu", "200 true string none"]);
    expect([...outcomes.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(100);
  });

  test("keeps what it has where the new is wrong, and says what is", async () => {
    await using server = await start();
    write("tools/says.js", module("v1"));
    write("glovebox.config.yaml", "tools: [./tools]\nlimits: { cpuMs: many }\npolicy: { rules: [] }\n");
    server.signal("SIGHUP");
    const line = await said(server, /not reloaded, nothing has changed: /);
    expect(line).toContain("glovebox.config.yaml:2:18: /limits/cpuMs");
    expect(JSON.parse(line)).toMatchObject({ level: 40, event: "config:reload", failures: 1 });
    const look = async (path: string) => (await fetch(`${server.url}${path}`)).text();
    const words = /^the reload of \S+Z was refused, and the configuration of \S+Z is in force: the log /;
    const readiness: unknown = JSON.parse(await look("/readyz"));
    expect(readiness).toMatchObject({ status: "ready", reload: { problem: expect.stringMatching(words) } });
    expect(JSON.parse(await look("/v1/stats"))).toMatchObject({
      problems: [expect.stringMatching(/^The configuration was not reloaded at .* is in force: .*limits\/cpuMs/)],
    });
    expect(await look("/metrics")).toMatch(/^glovebox_config_reload_failed 1$/m);
    const appliedAt = async () =>
      Number(/^glovebox_config_applied_timestamp_seconds (\S+)$/m.exec(await look("/metrics"))?.[1]);
    const startedAt = await appliedAt();
    expect((await call(server.url)).result.output).toEqual({ version: "v0", region: "eu" });
    write("glovebox.config.yaml", config(1));
    write("tools/broken.js", "export default (");
    const from = server.errors.length;
    server.signal("SIGHUP");
    await said(server, /not reloaded, nothing has changed: /, from);
    expect((await call(server.url)).result.output).toEqual({ version: "v0", region: "eu" });
    unlinkSync(join(folder, "tools/broken.js"));
    server.signal("SIGHUP");
    await said(server, /^glovebox: reloaded: /);
    expect((await call(server.url)).result.output).toEqual({ version: "v1", region: null });
    expect(JSON.parse(await look("/readyz"))).not.toHaveProperty("reload");
    expect(await look("/metrics")).toMatch(/^glovebox_config_reload_failed 0$/m);
    expect(await appliedAt()).toBeGreaterThan(startedAt);
  });

  test("says what is in force only after a restart, until there was one", async () => {
    await using server = await start();
    write(
      "glovebox.config.yaml",
      `${config(0)}drainMs: 77\nkv: { maxBytes: 9000000 }\nidempotency: { ttlMs: 7 }\nlogLevel: info\n`,
    );
    for (const time of [1, 2]) {
      const from = server.errors.length;
      server.signal("SIGHUP");
      await said(
        server,
        /^glovebox: warning: changed, but in force only after a restart: drainMs, idempotency, kv$/,
        from,
      );
      if (time === 1) await said(server, /reloaded: log level info$/, from);
    }
    // The log's level is in force: the engine has said that it was reconfigured.
    await said(server, /"level":30,.*the engine was reconfigured/);
  });

  test("shows the digest of the configuration that is in force, and no other", async () => {
    await using server = await start();
    const reload = async (text: string): Promise<readonly string[]> => {
      write("glovebox.config.yaml", text);
      const from = server.errors.length;
      server.signal("SIGHUP");
      await said(server, /^glovebox: reloaded: |not reloaded/, from);
      return digests();
    };
    const digests = async (): Promise<readonly string[]> => {
      const metrics = await (await fetch(`${server.url}/metrics`)).text();
      return metrics.match(/(?<=^glovebox_config_info\{digest=")[0-9a-f]{12}(?="\} 1$)/gm) ?? [];
    };
    const first = await digests();
    expect(first).toHaveLength(1);
    expect(await reload("limits: { cpuMs: many }")).toEqual(first);
    const needRestart = "drainMs: 77\nkv: { maxBytes: 9000000 }\nsecrets: { KEY: { env: REGION, origins: [x] } }\n";
    expect(await reload(config(0) + needRestart)).toEqual(first);
    const second = await reload(config(1));
    expect(second).toHaveLength(1);
    expect(second).not.toEqual(first);
    expect(await reload(config(0))).toEqual(first);
  });

  test("names the keys that are new, changed and gone", async () => {
    const [boss, other] = [createKey(), createKey()];
    const keys = (...lines: readonly string[]): void =>
      write(
        "glovebox.config.yaml",
        `${config(0)}keys:\n${lines.map((line) => `  - { tenant: null, ${line} }\n`).join("")}`,
      );
    keys(`name: boss, hash: "${boss.hash}", roles: [admin]`, `name: old, hash: "${other.hash}", roles: [execute]`);
    await using server = await start();
    keys(`name: boss, hash: "${boss.hash}", roles: [calls]`, `name: new, hash: "${other.hash}", roles: [execute]`);
    server.signal("SIGHUP");
    await said(server, /^glovebox: reloaded: keys new: new; keys changed: boss; keys gone: old$/);
  });

  test("reloads by itself where it is to watch", async () => {
    await using server = await start("--watch");
    write("tools/more.js", module("more").replace('"says"', '"more"'));
    await said(server, /^glovebox: reloaded: tools new: more$/);
    const from = server.errors.length;
    unlinkSync(join(folder, "tools/more.js"));
    await said(server, /^glovebox: reloaded: tools gone: more$/, from);
    server.signal("SIGTERM");
    expect(await server.exit).toBe(0);
  });
});
