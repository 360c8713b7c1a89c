import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConnectorOptions, resolveConnectors } from "../../../src/connectors/tool/options.ts";
import { ConfigError } from "../../../src/server/config/config-error.ts";
import { type Override, readConfiguration } from "../../../src/server/config/configuration.ts";
import { CONNECTOR } from "../../../src/server/config/connector-schema.ts";
import { effectiveValues } from "../../../src/server/config/effective.ts";
import { HIDDEN_VARIABLES, readEnvironment } from "../../../src/server/config/environment.ts";
import { nearest, SETTINGS } from "../../../src/server/config/names.ts";
import type { Part } from "../../../src/server/config/schema-parts.ts";
import { DEFAULT_LIMITS } from "../../../src/kernel/base/limits.ts";
import { byLength } from "../../length.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-settings-"));
});

afterAll(() => rmSync(folder, { recursive: true }));

function fileOf(text: string, name = "glovebox.config.yaml"): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

async function problemOf(text: string, overrides: readonly Override[] = [], name?: string): Promise<string> {
  const refused = await readConfiguration(fileOf(text, name), overrides).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ConfigError);
  return (refused as ConfigError).message;
}

function messageOf(act: () => unknown): string {
  try {
    return String(act());
  } catch (error) {
    return (error as Error).message;
  }
}

const flag = (path: readonly string[], value: unknown): Override => ({
  path,
  value,
  source: { kind: "flag", name: `--${path.join("-")}` },
});

describe("a connector of a configuration", () => {
  const mcp = { url: "https://a.example" };
  const openapi = { document: "a.yaml" };
  const auth = (kind: string) => ({ openapi, auth: { [kind]: { odd: 1 } } });
  const kinds = Object.keys(CONNECTOR.properties?.["auth"]?.properties ?? {});
  const cases: readonly { readonly path: readonly string[]; readonly options: object }[] = [
    { path: ["mcp"], options: { mcp: { ...mcp, odd: 1 } } },
    { path: ["mcp"], options: { mcp: { command: "a", odd: 1 } } },
    { path: ["openapi"], options: { openapi: { ...openapi, odd: 1 } } },
    { path: [], options: { mcp, odd: 1 } },
    { path: [], options: { openapi, odd: 1 } },
    ...kinds.map((kind) => ({ path: ["auth", kind], options: auth(kind) })),
  ];

  test.each(cases)("has each option that the engine takes: $path of $options", ({ path, options }) => {
    const part = path.reduce<Part>((above, name) => above.properties?.[name] ?? {}, CONNECTOR);
    const refused = () => resolveConnectors({ a: options as ConnectorOptions });
    expect(refused).toThrow(/odd is not an option/);
    const names = messageOf(refused).split(" are ").at(-1)?.split(", ") ?? [];
    expect(names.filter((name) => part.properties?.[name] === undefined)).toEqual([]);
  });
});

describe("a configuration", () => {
  test("is the file, over it the environment, and over both the command line, value by value", async () => {
    const file = fileOf("port: 1\nworkers: 2\nlimits: { cpuMs: 5, wallMs: 6 }");
    const environment = readEnvironment({ GLOVEBOX_WORKERS: "3", GLOVEBOX_LIMITS__WALL_MS: "7", GLOVEBOX_PORT: "4" });
    const { values, sourceOf } = await readConfiguration(file, [...environment, flag(["port"], 9)]);
    expect(values).toEqual({ port: 9, workers: 3, limits: { cpuMs: 5, wallMs: 7 } });
    expect(sourceOf(["port"])).toEqual({ kind: "flag", name: "--port" });
    expect(sourceOf(["workers"])).toEqual({ kind: "variable", name: "GLOVEBOX_WORKERS" });
    expect(sourceOf(["limits", "wallMs"])).toEqual({ kind: "variable", name: "GLOVEBOX_LIMITS__WALL_MS" });
    const place = { kind: "file", file: "glovebox.config.yaml", line: 3, column: 18 };
    expect(sourceOf(["limits", "cpuMs"])).toEqual(place);
    expect(sourceOf(["limits", "memoryMb"])).toEqual({ kind: "default" });
  });

  test("with a long integer as a limit is refused as with any other number that is too large", async () => {
    const config = "tools: [{ path: ./a.js, config: { id: 1915883588174806059 } }]";
    for (const number of ["1915883588174806059", "9".repeat(5_000), "1e999"]) {
      const problem = await problemOf(`port: ${number}\n${config}`);
      expect(problem).toContain("/port must be <= 65535");
    }
    const { values } = await readConfiguration(fileOf(`limits: { cpuMs: 1915883588174806059 }\n${config}`));
    expect(values.limits).toEqual({ cpuMs: 1915883588174806000 });
    expect(JSON.stringify(values.tools)).toContain('"config":{"id":1915883588174806059}');
  });

  test("has the last word that is said of each limit, and knows whose it is", async () => {
    const names = Object.keys(DEFAULT_LIMITS);
    const layer = fc.dictionary(fc.constantFrom(...names), fc.integer({ min: 1, max: 9_999 }), {
      noNullPrototype: true,
    });
    await fc.assert(
      fc.asyncProperty(layer, layer, layer, async (inFile, inVariables, inFlags) => {
        const overrides = [
          ...readEnvironment(
            Object.fromEntries(
              SETTINGS.filter(({ path }) => path[0] === "limits" && Object.hasOwn(inVariables, path[1] ?? "")).map(
                ({ path, variable }) => [variable, String(inVariables[path[1] ?? ""])],
              ),
            ),
          ),
          ...Object.entries(inFlags).map(([name, value]) => flag(["limits", name], value)),
        ];
        const { values, sourceOf } = await readConfiguration(fileOf(JSON.stringify({ limits: inFile })), overrides);
        expect({ ...values.limits }).toEqual({ ...inFile, ...inVariables, ...inFlags });
        for (const name of names) {
          const kind =
            name in inFlags ? "flag" : name in inVariables ? "variable" : name in inFile ? "file" : "default";
          expect(sourceOf(["limits", name]).kind).toBe(kind);
        }
      }),
      { numRuns: 30 },
    );
  });

  test.each([
    ["YAML", "port: 80\nworkers: many", 2, 10, "workers: many"],
    ["JSON", '{\n  "port": 80,\n  "limits": { "wallMs": -5 }\n}', 3, 25, '"limits": { "wallMs": -5 }'],
    ["a list", "policy:\n  rules:\n    - { allow: {} }\n    - { tools: [a] }", 4, 7, "- { tools: [a] }"],
    ["a name", "port: 80\nworker: 3", 2, 1, ""],
  ])("that is wrong is pointed at, with its line and column: %s", async (_, text, line, column, shown) => {
    const [first = "", excerpt = "", mark = ""] = (await problemOf(text)).split("\n");
    expect(first).toMatch(new RegExp(`^glovebox\\.config\\.yaml:${line}:${column}: `));
    expect(excerpt).toContain(shown);
    if (shown !== "") expect(excerpt.slice(mark.indexOf("^"))).toBe(text.split("\n")[line - 1]?.slice(column - 1));
  });

  test("that is wrong in the environment, or on the command line, names the variable, or the flag", async () => {
    expect(await problemOf("port: 1", readEnvironment({ GLOVEBOX_WORKERS: "x" }))).toMatch(
      /^GLOVEBOX_WORKERS: .*integer.*"x"/,
    );
    expect(await problemOf("port: 1", [flag(["port"], -1)])).toMatch(/^--port: \/port must be >= 0/);
  });

  test("says which name may be meant instead of one that there is not", async () => {
    expect(await problemOf("worker: 3")).toContain("is workers meant?");
    expect(await problemOf("limits: { wallMS: 3 }")).toContain("is wallMs meant?");
  });

  test("may say an executor by its kind alone, and more of it elsewhere", async () => {
    const { values, sourceOf } = await readConfiguration(fileOf("executor: threads"), [
      flag(["executor", "sandbox"], "off"),
    ]);
    expect(values.executor).toEqual({ kind: "threads", sandbox: "off" });
    expect(sourceOf(["executor", "kind"])).toMatchObject({ kind: "file", line: 1, column: 11 });
  });

  test("shows nothing of a secret, wherever its text is broken", { timeout: 240_000 }, async () => {
    const secret = "hush-hush-hush";
    const whole = `port: 80\nsecrets:\n  KEY: { value: ${secret}, origins: ["https://a.b"] }\nworkers: 2\n`;
    const added = ["", "[", "{", '"', ": ", "\n", "&a ", "*a ", "!x ", "- ", "x", "'", "#", "|", "\\", "@"];
    const texts = new Set<string>();
    for (let at = 0; at <= whole.length; at += byLength(3, 1)) {
      for (const each of added) {
        const broken = whole.slice(0, at) + each + whole.slice(at + (each === "" ? 1 : 0));
        // The secret's own text stays whole, so that it can be looked for.
        if (broken.includes(secret)) texts.add(broken).add(`{ ${broken.trim().replaceAll("\n", " ")} }`);
      }
    }
    for (const text of texts) {
      const refused = await readConfiguration(fileOf(text)).catch((error: unknown) => error);
      if (refused instanceof Error) expect(refused.message).not.toContain("hush");
    }
  });

  test.each([
    ["that is wrong", "tools: [{ path: 5, config: { token: hush-hush } }]"],
    ["whose part has another name", "secrts: { KEY: { value: hush-hush } }"],
    ["beside something wrong", "{ workers: many, secrets: { KEY: { value: hush-hush, origins: [x] } } }"],
    ["with the name of a key", "port: 80\napiKey: hush-hush"],
    ["beside a setting of a fleet", "executor: { kind: queue, url: 'redis://:hush@a', lostMs: -1 }"],
    ["in the name of a setting of a fleet", "executor: { kind: queue, secret hush-hush: }"],
    ["in the place of an executor's kind", "executor: 'redis://:hush@a'"],
    ["of a fleet and no text", "executor: { kind: queue, secret: [hush] }"],
    ["in a URL of Redis beside something wrong", "kv: { url: 'redis://:hush-hush@host', maxBytes: many }"],
    ["in a URL of Redis in another place", "kv: 'redis://:hush-hush@host'"],
    ["in a URL of Redis that is no text", "kv: { url: { password: hush-hush } }"],
    ["beside a Redis", "idempotency: { url: redis://user:hush-hush@host, ttlMs: many }"],
    ["in place of a Redis", "idempotency: redis://user:hush-hush@host"],
    ["in the name of a Redis", "idempotency: { url:redis://user:hush-hush@host }"],
    ["that is too short", "idempotency: { url: redis://host, secret: hush }"],
  ])("shows nothing of what may be a secret %s", async (_, text) => {
    expect(await problemOf(text)).not.toContain("hush");
  });

  test("with nothing that may be a secret is shown as it is in force", async () => {
    const settings = await readConfiguration(
      fileOf(
        "secrets: { KEY: { value: hush-hush, origins: [x] } }\ntools: [{ path: a, config: { token: hush-hush } }]\n" +
          "kv: { url: 'redis://:hush-hush@host' }\n" +
          "idempotency: { url: redis://user:hush-hush@host, secret: hush-hush-hush-hush }",
      ),
    );
    const shown = effectiveValues(settings);
    expect(JSON.stringify(shown)).not.toContain("hush");
    for (const hidden of ["secrets.KEY.value", "tools.0.config", "idempotency.secret"])
      expect(shown.find(({ setting }) => setting === hidden)).toMatchObject({ value: "(not shown)" });
    for (const url of ["kv.url", "idempotency.url"])
      expect(shown.find(({ setting }) => setting === url)).toMatchObject({ value: "redis://…@host" });
    expect(shown.filter(({ setting }) => setting.startsWith("kv."))).toHaveLength(1);
  });
});

describe("a fleet", () => {
  const secret = "hush-hush-hush-hush";

  test.each([
    ["redis://user:hush@redis.example:6379/2", "redis://…@redis.example:6379/2"],
    ["rediss+sentinel://:hu%40sh@a,b:1/main", "rediss+sentinel://…@a,b:1/main"],
    ["redis://redis.example", "redis://redis.example"],
  ])("shows where its Redis is, and neither user nor password: %s", async (url, shown) => {
    const file = fileOf(`executor: { kind: queue, url: "${url}", secret: ${secret} }`);
    const values = effectiveValues(await readConfiguration(file));
    expect(values.find(({ setting }) => setting === "executor.url")).toMatchObject({ value: shown });
    expect(values.find(({ setting }) => setting === "executor.secret")).toMatchObject({ value: "(not shown)" });
    expect(JSON.stringify(values)).not.toContain("hush");
  });

  test.each([
    ["{}", { "calls.url": "redis://…@a", "calls.fleet": "f", "calls.maxBytes": 64 * 1024 ** 2 }],
    ["{ keep: everything, fleet: g }", { "calls.url": "redis://…@a", "calls.fleet": "g", "calls.keep": "everything" }],
    ["{ path: /calls }", { "calls.path": "/calls", "calls.maxBytes": 256 * 1024 ** 2 }],
    [`{ url: "redis://b", secret: ${secret} }`, { "calls.url": "redis://b", "calls.fleet": "default" }],
    ["{ keep: nothing }", { "calls.keep": "nothing" }],
  ])("with a secret keeps calls in its Redis, unless another place is named: calls: %s", async (calls, expected) => {
    const file = fileOf(
      `calls: ${calls}\nexecutor: { kind: queue, url: "redis://:hush@a", fleet: f, secret: ${secret} }`,
    );
    const values = effectiveValues(await readConfiguration(file)).filter(({ setting }) => setting.startsWith("calls."));
    const shown = Object.fromEntries(values.map(({ setting, value }) => [setting, value]));
    expect(shown).toMatchObject(expected);
    expect(JSON.stringify(values)).not.toContain("hush");
  });

  test("shows who is told of calls that wait, and no secret, nor a wrong one in an error", async () => {
    const target = (more: string): string =>
      fileOf(`calls: { path: /calls, notify: [{ url: "https://hook.example/x", ${more} }] }`);
    const file = target("secret: { env: HOOK_SECRET }, events: [paused]");
    const values = effectiveValues(await readConfiguration(file));
    const shown = Object.fromEntries(values.map(({ setting, value }) => [setting, value]));
    expect(shown).toMatchObject({
      "calls.notify.0.url": "https://hook.example/x",
      "calls.notify.0.secret": "(not shown)",
      "calls.notify.0.events": ["paused"],
    });
    const wrong = await readConfiguration(target("secret: hush")).catch((error: unknown) => String(error));
    expect(wrong).toContain("/calls/notify/0/secret");
    expect(wrong).not.toContain("hush");
  });

  test("without a secret keeps calls in a file of each server", async () => {
    const values = effectiveValues(await readConfiguration(fileOf("executor: { kind: queue, url: redis://a }")));
    const places = values.filter(({ setting }) => /^calls\.(?:path|url)$/.test(setting));
    expect(places.map(({ setting }) => setting)).toEqual(["calls.path"]);
  });

  test("has the secret that the environment says under the name that servers and worker machines have in common", async () => {
    const { values, sourceOf } = await readConfiguration(
      fileOf("executor: { kind: queue, url: redis://a }"),
      readEnvironment({ GLOVEBOX_FLEET_SECRET: secret }),
    );
    expect(values.executor).toMatchObject({ secret });
    expect(sourceOf(["executor", "secret"])).toEqual({ kind: "variable", name: "GLOVEBOX_FLEET_SECRET" });
  });

  test("without a secret shows none", async () => {
    const values = effectiveValues(await readConfiguration(fileOf("executor: { kind: queue, url: redis://a }")));
    expect(values.map(({ setting }) => setting)).not.toContain("executor.secret");
  });

  test("leaves no secret and no password in the environment of its processes", () => {
    const environment: NodeJS.ProcessEnv = {
      GLOVEBOX_FLEET_SECRET: secret,
      GLOVEBOX_EXECUTOR__URL: "redis://:hush@a",
      HOME: "/",
    };
    for (const name of HIDDEN_VARIABLES) delete environment[name];
    expect(environment).toEqual({ HOME: "/" });
  });

  test("has worker machines with as many slots as their isolate threads make use of", async () => {
    const slotsOf = async (text: string): Promise<unknown> =>
      effectiveValues(await readConfiguration(fileOf(text))).find(({ setting }) => setting === "machine.slots")?.value;
    expect(await slotsOf("workers: 3")).toBe(24);
    expect(await slotsOf("workers: 3\nmachine: { slots: 7 }")).toBe(7);
  });
});

describe("the environment", () => {
  test("has a name of its own for every setting", () => {
    const variables = SETTINGS.map(({ variable }) => variable);
    expect(new Set(variables).size).toBe(variables.length);
    expect(variables).toEqual(expect.arrayContaining(["GLOVEBOX_LOG_LEVEL", "GLOVEBOX_LIMITS__WALL_MS"]));
    for (const variable of variables) expect(variable).toMatch(/^GLOVEBOX(?:_{1,2}[A-Z]+)+$/);
  });

  test("has variables that are never shown, and those that have such in them", () => {
    expect(HIDDEN_VARIABLES).toEqual(
      expect.arrayContaining(["GLOVEBOX_SECRETS", "GLOVEBOX_IDEMPOTENCY", "GLOVEBOX_IDEMPOTENCY__URL"]),
    );
    expect(HIDDEN_VARIABLES).not.toContain("GLOVEBOX_IDEMPOTENCY__TTL_MS");
  });

  test("says lists with commas or as JSON, and what has parts as JSON", () => {
    const values = (environment: NodeJS.ProcessEnv) => readEnvironment(environment).map(({ value }) => value);
    expect(values({ GLOVEBOX_TOOLS: "a, b" })).toEqual([["a", "b"]]);
    expect(values({ GLOVEBOX_TOOLS: '[{"path":"a,b"}]' })).toEqual([[{ path: "a,b" }]]);
    expect(values({ GLOVEBOX_POLICY: '{"rules":[]}' })).toEqual([{ rules: [] }]);
    expect(values({ GLOVEBOX_REUSE_PORT: "true", GLOVEBOX_HOST: "", OTHER: "1" })).toEqual([true]);
    expect(() => readEnvironment({ GLOVEBOX_POLICY: "{" })).toThrow("GLOVEBOX_POLICY: it is not JSON");
  });

  test("with an unknown name is refused, with the one that may be meant and not with its value", () => {
    const read = () => readEnvironment({ GLOVEBOX_LOGLEVEL: "hush" });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(/^GLOVEBOX_LOGLEVEL: there is no such setting; is GLOVEBOX_LOG_LEVEL meant\?$/);
  });

  test("may have what Kubernetes says of a service of that name", () => {
    const links = {
      GLOVEBOX_PORT: "tcp://10.0.0.1:8080",
      GLOVEBOX_SERVICE_HOST: "10.0.0.1",
      GLOVEBOX_SERVICE_PORT_HTTP: "8080",
      GLOVEBOX_PORT_8080_TCP_ADDR: "10.0.0.1",
    };
    expect(readEnvironment(links)).toEqual([]);
  });
});

test("the nearest name is one with few other characters, or none", () => {
  expect(nearest("wokers", ["host", "workers"])).toBe("workers");
  expect(nearest("port", ["host", "post"])).toBe("post");
  expect(nearest("wran", ["trace", "warn"])).toBe("warn");
  expect(nearest("zzzz", ["host", "workers"])).toBeUndefined();
  expect(nearest("db", ["kv", "host"])).toBeUndefined();
});
