import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EffectiveValue } from "../../../src/server/config/effective.ts";
import {
  ConfigError,
  createEngine,
  type Explanation,
  loadConfig,
  type ToolFinding,
} from "../../../src/glovebox/index.ts";
import { type Ended, glovebox as run } from "../../cli/command.ts";

const REGION = `
export const spec = {
  name: "region",
  description: "Says where it runs.",
  tags: ["infra"],
  limits: { cpuMs: 100, wallMs: 999_999_999 },
  capabilities: { env: ["REGION", "SECRET_KEY"], tools: ["helper-*"], bucket: true },
};
export default async (input, { host }) => ({ region: await host.env.get("REGION") });
`;

const CONFIG = `
tools: [./tools]
workers: 1
limits: { memoryMb: 32 }
policy:
  rules:
    - tags: [infra]
      allow: { env: [REGION] }
    - tenants: [acme]
      allow: { tools: ["helper-a", "other"] }
    - allow: { buckets: true }
`;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-config-"));
  mkdirSync(join(folder, "tools"));
  writeFileSync(join(folder, "tools", "region.js"), REGION);
  writeFileSync(join(folder, "glovebox.config.yaml"), CONFIG);
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the command in the folder. */
const glovebox = (args: readonly string[], cwd = folder): Promise<Ended> => run(cwd, args, { REGION: "eu-north-1" });

test("says where packages may come from, with paths from where it lies, and URLs as they are", async () => {
  const file = join(folder, "packages.yaml");
  const url = "https://assets.example.com/tools/weather.zip";
  const packages =
    "{ origins: [https://assets.example.com/tools/], modules: ./vendor, allow: [slugify], wheels: ./wheels, maxBytes: 1000 }";
  writeFileSync(file, `tools: [./tools, "${url}"]\npackages: ${packages}`);
  const config = await loadConfig(file);
  expect(config.tools).toEqual([join(folder, "tools"), url]);
  const places = { modules: join(folder, "vendor"), wheels: join(folder, "wheels") };
  expect(config.packages).toMatchObject({ ...places, allow: ["slugify"], maxBytes: 1_000 });
  writeFileSync(file, "packages: { origin: [] }");
  await expect(loadConfig(file)).rejects.toThrow("packages");
});

describe("a configuration", () => {
  test("says of a place of tools what their modules do not, with paths from where it lies", async () => {
    const module = `export async function mount(coordinator, config) {
      return { name: "told", description: "Tells its config.", async execute() { return { output: config }; } };
    }`;
    writeFileSync(join(folder, "told.js"), module);
    const file = join(folder, "located.yaml");
    writeFileSync(file, "tools: [{ path: ./told.js, config: { max_size: 5 }, limits: { cpuMs: 70 }, tags: [own] }]");
    await using engine = await createEngine({ ...(await loadConfig(file)), workers: 1, executor: "threads" });
    expect(engine.get("told")).toMatchObject({ contract: "amplifier", tags: ["own"], limits: { cpuMs: 70 } });
    expect((await engine.execute({ name: "told", arguments: {} })).output).toEqual({ max_size: 5 });
  });

  test("in the working directory is what commands use: its tools, its policy, its limits", async () => {
    const { code, stdout, stderr } = await glovebox(["run", "region", "--input", "{}"]);
    expect([code, stdout.trim(), stderr]).toEqual([0, '{"region":"eu-north-1"}', ""]);
  });

  test("may be another file, in JSON, whose paths are meant from where it lies", async () => {
    const deny = join(folder, "deny.json");
    writeFileSync(deny, JSON.stringify({ tools: ["./tools"], policy: { rules: [] } }));
    const { code, stderr } = await glovebox(["run", "region", "--input", "{}", "--config", deny], tmpdir());
    expect(code).toBe(1);
    expect(stderr).toContain("capability_denied");
    expect(stderr).toContain("to grant it, add it to a policy rule that applies to the tool");
  });

  test.each([
    ["that is no YAML", "a: [", "config.yaml:1:5: "],
    ["with an option that there is not", "tool: [x]", "tool"],
    ["with a value that is invalid", "workers: many", "/workers"],
    ["with an option of fetch that there is not", "fetch: { lookup: x }", "/fetch/lookup"],
    ["with a time that is invalid", "fetch: { connectMs: 0 }", "/fetch/connectMs"],
    ["with a size that is invalid", "kv: { maxBytes: many }", "/kv/maxBytes"],
    ["whose audit is invalid", "audit: [a.jsonl]", "/audit"],
    ["whose policy is invalid", "tools: []\npolicy: { rules: [{ allow: { env: 5 } }] }", "policy.rules[0].allow.env"],
    [
      "that blows up",
      `a: &a [x,x]\n${"bcdefghijklm"
        .split("")
        .map((key, at) => `${key}: &${key} [${`*${"abcdefghijklm"[at]},`.repeat(9)}*a]`)
        .join("\n")}`,
      "config.yaml",
    ],
  ])("%s is refused with its place, and nothing is started", async (_what, text, said) => {
    const file = join(folder, "config.yaml");
    writeFileSync(file, text);
    const { code, stderr, stdout } = await glovebox(["list", "--config", file]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(said);
    expect(stderr).not.toContain(folder);
  });

  test("says how requests find their servers, what kv may grow to, and where secrets are", async () => {
    const file = join(folder, "whole.yaml");
    writeFileSync(
      file,
      `
fetch: { connectMs: 500, headersMs: 1000, idleMs: 2000.5 }
kv: { path: ./kv.sqlite, maxBytes: 4194304 }
secrets:
  A: { value: long-enough, origins: ["https://a.example"] }
  B: { env: B_KEY, bind: [{ origin: "https://b.example", in: "query:key", methods: [GET], path: /v1 }], inject: false }
  C: { file: ./c.key, origins: ["https://c.example"] }
`,
    );
    const { fetch, kv, secrets } = await loadConfig(file);
    expect(fetch).toEqual({ connectMs: 500, headersMs: 1_000, idleMs: 2_000.5 });
    expect(kv).toEqual({ path: join(folder, "kv.sqlite"), maxBytes: 4 * 1024 ** 2 });
    expect(secrets?.["B"]).toMatchObject({ bind: [{ in: "query:key", methods: ["GET"], path: "/v1" }], inject: false });
    expect(secrets?.["C"]).toEqual({ file: join(folder, "c.key"), origins: ["https://c.example"] });
  });

  test.each([
    ["with two places", '{ value: hush-hush-1, env: HOME, origins: ["https://a.b"] }', "one of value, env and file"],
    ["with no place", '{ origins: ["https://a.b"] }', "one of value, env and file"],
    ["without bindings", "{ value: hush-hush-1 }", "must have bind"],
    [
      "with both forms",
      '{ value: hush-hush-1, bind: [{ origin: "https://a.b" }], origins: ["https://a.b"] }',
      "must have bind",
    ],
    ["with a binding of no origin", '{ value: hush-hush-1, bind: [{ in: "body" }] }', "/secrets/KEY/bind/0/origin"],
    [
      "with a binding that has a member that there is not",
      '{ value: hush-hush-1, bind: [{ origin: "https://a.b", hush: 1 }] }',
      "not one of origin, in, as",
    ],
    [
      "with a member that there is not",
      '{ valve: hush-hush-1, origins: ["https://a.b"] }',
      "/secrets/KEY has a property",
    ],
    ["that is written down as it is", "hush-hush-1", "/secrets/KEY must be"],
  ])("has no secret %s, and does not show it", async (_what, secret, said) => {
    const file = join(folder, "secret.yaml");
    writeFileSync(file, `secrets: { KEY: ${secret} }`);
    const refused = await loadConfig(file).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigError);
    expect(String(refused)).toContain(said);
    expect(String(refused)).not.toContain("hush");
  });

  test("names the members of which a part must have exactly one, and says each mistake once", async () => {
    const file = join(folder, "one-of.yaml");
    const oauth = "oauth: { issuer: https://a.example, scopes: { a: [execute] }, tenant: a, tenantClaim: b }";
    writeFileSync(file, `${oauth}\nsecrets: { KEY: { value: hush-hush-1, env: HOME } }\n`);
    const refused = await loadConfig(file).catch((error: unknown) => error);
    expect((refused as ConfigError).findings.map(({ message }) => message)).toEqual([
      "/oauth must have exactly one of jwksUri and introspection",
      "/oauth must have exactly one of tenant and tenantClaim",
      "/secrets/KEY must have bind, and one of value, env and file",
    ]);
  });

  test("that is not there is refused", async () => {
    await expect(loadConfig(join(folder, "nowhere.yaml"))).rejects.toBeInstanceOf(ConfigError);
  });
});

describe("glovebox config", () => {
  test("prints every value that is in force, and the source of each", async () => {
    const { code, stdout } = await glovebox(["config", "print"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^workers +1 +glovebox\.config\.yaml:3$/m);
    expect(stdout).toMatch(/^limits\.memoryMb +32 +glovebox\.config\.yaml:4$/m);
    expect(stdout).toMatch(/^port +8080 +default$/m);
  });

  test("prints them as JSON for programs", async () => {
    const { stdout } = await glovebox(["config", "print", "--json"]);
    const values = JSON.parse(stdout) as readonly EffectiveValue[];
    const source = { kind: "file", file: "glovebox.config.yaml", line: 3, column: 10 };
    expect(values).toContainEqual({ setting: "workers", value: 1, source });
  });

  test("prints the digits of a long integer in the condition of an approval", async () => {
    const file = join(folder, "condition.yaml");
    const when = "{ properties: { id: { const: 1915883588174806058 } } }";
    writeFileSync(file, `policy: { rules: [], approvals: [{ tools: [pay], when: ${when} }] }\n`);
    const { stdout } = await glovebox(["config", "print", "--config", file]);
    expect(stdout).toMatch(
      /^policy\.approvals\.0\.when\.properties\.id\.const +1915883588174806058 +condition\.yaml:1$/m,
    );
  });

  test("checks more than the form: what the engine says of the policy as well", async () => {
    const valid = await glovebox(["config", "check"]);
    expect(valid).toMatchObject({ code: 0, stdout: "the configuration is valid\n" });
    expect(valid.stderr).toContain('policy/unknown-capability  there is no capability "buckets" here');
    const file = join(folder, "unreadable.yaml");
    writeFileSync(file, "policy: { rules: [{ allow: { env: 5 } }] }");
    const { code, stderr } = await glovebox(["config", "check", "--config", file]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("policy.rules[0].allow.env")]);
  });

  test("does not pass a check with a key that the server would not start with", async () => {
    const file = join(folder, "keyless.yaml");
    writeFileSync(file, "keys:\n  - { name: a, tenant: t, env: NO_SUCH_KEY, roles: [execute] }\n");
    const { code, stderr } = await glovebox(["config", "check", "--config", file]);
    const line = "keyless.yaml:2:32 error  config/meaning  /keys/0/env names a variable that is not set: NO_SUCH_KEY";
    expect({ code, stderr }).toEqual({ code: 2, stderr: `${line}\n1 error\n` });
  });

  test("checks all in one go: each mistake has its line and place, and there is a count", async () => {
    const file = join(folder, "wrong.yaml");
    const lines = [
      "workers: many",
      "limts: { cpuMs: 5 }",
      "port: 70000",
      "host: 0.0.0.0",
      "admin: open",
      "keys:",
      "  - { name: a, tenant: t, env: NO_SUCH_KEY, roles: [execute] }",
      "  - { name: b, tenant: t, env: NO_OTHER_KEY, roles: [execute] }",
      "kv: { url: redis://127.0.0.1, maxBytes: 5 }",
      "policy:",
      "  rules:",
      "    - allow: { env: 5, fetch: { origins: 5 } }",
      "    - allow: { tools: 5 }",
    ];
    writeFileSync(file, lines.join("\n"));
    const { code, stdout, stderr } = await glovebox(["config", "check", "--config", file]);
    const found = stderr.trimEnd().split("\n");
    const places = found.map((line) =>
      /^(wrong\.yaml:\d+):\d+ +error {2}(config\/[\w-]+) +\S/.exec(line)?.slice(1).join(" "),
    );
    expect([code, stdout, found.at(-1)]).toEqual([2, "", "11 errors; glovebox config check --fix repairs 1 of them"]);
    expect(places.slice(0, -1)).toEqual([
      "wrong.yaml:1 config/value",
      "wrong.yaml:2 config/unknown-key",
      "wrong.yaml:3 config/value",
      "wrong.yaml:5 config/meaning",
      "wrong.yaml:7 config/meaning",
      "wrong.yaml:8 config/meaning",
      "wrong.yaml:9 config/meaning",
      "wrong.yaml:9 config/meaning",
      "wrong.yaml:12 config/meaning",
      "wrong.yaml:12 config/meaning",
      "wrong.yaml:13 config/meaning",
    ]);
    writeFileSync(file, 'a: "\\q"\nb: "\\z"\n');
    const syntax = await glovebox(["config", "check", "--config", file]);
    expect(syntax.stderr).toMatch(/^(?:wrong\.yaml:[12]:5 error {2}config\/syntax {2}\S.*\n){2}2 errors\n$/);
  });

  test("names every setting's variable", async () => {
    expect((await glovebox(["config", "names"])).stdout).toMatch(/^limits\.wallMs +GLOVEBOX_LIMITS__WALL_MS$/m);
  });
});

describe("glovebox explain", () => {
  async function explain(...args: string[]): Promise<Explanation> {
    const { stdout } = await glovebox(["explain", "region", "--json", ...args]);
    return JSON.parse(stdout) as Explanation;
  }

  test("shows each grant with the rule that gives it, for the tenant that is meant", async () => {
    expect((await explain()).grants).toEqual([{ capability: "env", granted: '"REGION"', from: "policy.rules[0]" }]);
    expect((await explain("--tenant", "acme")).grants).toEqual([
      { capability: "env", granted: '"REGION"', from: "policy.rules[0]" },
      { capability: "tools", granted: '"helper-a"', from: "policy.rules[1]" },
    ]);
  });

  test("shows each limit with its source", async () => {
    const { limits } = await explain();
    const from = Object.fromEntries(limits.map(({ limit, value, from: whose }) => [limit, [value, whose]]));
    expect(from).toMatchObject({
      cpuMs: [100, "tool"],
      wallMs: [600_000, "maxLimits"],
      memoryMb: [32, "limits"],
      queueMs: [30_000, "default"],
    });
  });

  test("names the ceiling where it is what cuts the engine's own limit", async () => {
    const file = join(folder, "ceiling.yaml");
    writeFileSync(file, "tools: [./tools]\nlimits: { outputBytes: 5000 }\nmaxLimits: { queueMs: 1000 }");
    const { stdout } = await glovebox(["explain", "region", "--json", "--config", file]);
    const { limits } = JSON.parse(stdout) as Explanation;
    expect(limits).toContainEqual({ limit: "queueMs", value: 1_000, from: "maxLimits" });
    expect(limits).toContainEqual({ limit: "outputBytes", value: 5_000, from: "limits" });
  });

  test("ends well without a tool where no request is denied and no rule is unused", async () => {
    const file = join(folder, "enough.yaml");
    const allow = '{ env: ["*"], tools: ["*"] }';
    writeFileSync(join(folder, "modest.js"), REGION.replace(", bucket: true", ""));
    writeFileSync(file, `tools: [./modest.js]\npolicy: { rules: [{ allow: ${allow} }] }`);
    const { code, stdout } = await glovebox(["explain", "--config", file]);
    expect([code, stdout]).toEqual([0, "denied requests and unused rules: none\n"]);
  });

  test("ends with 1 where a request of the tool is denied, with each form of the answer, and else with 0", async () => {
    const codeOf = async (...args: string[]): Promise<number> => (await glovebox(["explain", ...args])).code;
    expect([await codeOf("region"), await codeOf("region", "--json")]).toEqual([1, 1]);
    const file = join(folder, "none.yaml");
    writeFileSync(
      join(folder, "quiet.js"),
      'export const spec = { name: "quiet", description: "Asks nothing." }; export default () => 1;',
    );
    writeFileSync(file, "tools: [./quiet.js]");
    expect(await codeOf("quiet", "--config", file)).toBe(0);
  });

  test("lists the denied requests of the tool, with pointer, reason and remediation", async () => {
    const { findings } = await explain("--tenant", "acme");
    expect(findings.map(({ pointer }) => pointer)).toEqual([
      "/capabilities/env/1",
      "/capabilities/tools/0",
      "/capabilities/bucket",
    ]);
    for (const { reason, remediation } of findings) expect([reason, remediation].join()).toMatch(/\w{3}.*\w{3}/);
  });

  test("without a tool lists the denied requests of all tools, and the unused rules of the policy", async () => {
    const { code, stdout } = await glovebox(["explain", "--json"]);
    expect(code).toBe(1);
    const findings = JSON.parse(stdout) as ToolFinding[];
    expect(findings.map(({ tool, pointer }) => [tool, pointer])).toEqual([
      [null, "/policy/rules/2/allow/buckets"],
      ["region", "/capabilities/env/1"],
      ["region", "/capabilities/tools/0"],
      ["region", "/capabilities/bucket"],
    ]);
  });

  test("says it in words for people", async () => {
    const { code, stdout } = await glovebox(["explain", "region"]);
    expect(code).toBe(1);
    expect(stdout).toContain('env  "REGION"  (policy.rules[0])');
    expect(stdout).toContain("/capabilities/env/1");
  });

  test("knows no tool that is not there", async () => {
    expect((await glovebox(["explain", "nobody"])).code).toBe(2);
  });
});
