import { Registry } from "prom-client";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Override, readConfiguration } from "../../../src/server/config/configuration.ts";
import { registerInfo } from "../../../src/kernel/base/info-metrics.ts";
import { digestOf, showConfiguration } from "../../../src/server/config/digest.ts";
import { settingsOf } from "../../../src/server/config/effective.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-digest-"));
  mkdirSync(join(folder, "other"));
});

afterAll(() => rmSync(folder, { recursive: true }));

async function digest(text: string, under = ".", overrides: readonly Override[] = []): Promise<string> {
  const file = join(folder, under, "glovebox.config.yaml");
  writeFileSync(file, text);
  return digestOf(settingsOf((await readConfiguration(file, overrides)).values), file);
}

const RULES = "policy: { rules: [{ tools: [a], allow: { fs: { data: { path: ./data } } } }] }";

describe("the digest of a configuration", () => {
  test("has twelve hexadecimal digits", async () => {
    expect(await digest("{}")).toMatch(/^[0-9a-f]{12}$/);
  });

  test.each([
    ["a limit", "limits: { cpuMs: 100 }", "limits: { cpuMs: 101 }"],
    ["a rule", RULES, RULES.replace("[a]", "[b]")],
    ["the folder of a mount", RULES, RULES.replace("./data", "./more")],
    ["the folder of the tools", "tools: [./tools]", "tools: [./more]"],
    ["a key", 'keys: [{ name: a, tenant: "t", env: A, roles: [execute] }]', "{}"],
    [
      "whether there is a secret",
      "executor: { kind: queue, url: redis://a, secret: hush-hush-hush-hush }",
      "executor: { kind: queue, url: redis://a }",
    ],
  ])("says whether %s differs", async (_, one, other) => {
    expect(await digest(one)).not.toBe(await digest(other));
  });

  test.each([
    ["host and port", "host: 10.0.0.1\nport: 1", "host: 10.0.0.2\nport: 2"],
    ["the number of workers and slots", "workers: 2\nmachine: { slots: 3 }", "workers: 4"],
    ["where state is", "stateDir: /a\nkv: { path: /a/kv }", "stateDir: /b\nkv: { path: /b/kv }"],
    [
      "the value of a secret",
      "secrets: { KEY: { value: one, origins: [x] } }",
      "secrets: { KEY: { value: other, origins: [x] } }",
    ],
    ["the password of a URL", "kv: { url: redis://:one@a }", "kv: { url: redis://:other@a }"],
    [
      "the order of names",
      "limits: { cpuMs: 7, wallMs: 8 }\nmodelChars: 5000",
      "modelChars: 5000\nlimits: { wallMs: 8, cpuMs: 7 }",
    ],
    ["whether a default is written", "{}", "logLevel: warn"],
  ])("does not depend on %s", async (_, one, other) => {
    expect(await digest(one)).toBe(await digest(other));
  });

  test("does not depend on the folder of the configuration", async () => {
    const text = `tools: [./tools]\n${RULES}`;
    expect(await digest(text)).toBe(await digest(text, "other"));
  });

  test("does not depend on where a setting stands", async () => {
    const source = { kind: "variable", name: "GLOVEBOX_LIMITS__CPU_MS" } as const;
    const override = { path: ["limits", "cpuMs"], value: 7, source };
    expect(await digest("limits: { cpuMs: 7 }")).toBe(await digest("{}", ".", [override]));
  });
});

test("a scrape names the configuration that is in force, and none before it", async () => {
  const registry = new Registry();
  registerInfo(registry);
  for (const digest of ["aaaaaaaaaaaa", "bbbbbbbbbbbb"]) showConfiguration(registry, digest);
  const text = await registry.getSingleMetricAsString("glovebox_config_info");
  expect(text.split("\n").filter((line) => line.startsWith("glovebox_"))).toEqual([
    'glovebox_config_info{digest="bbbbbbbbbbbb"} 1',
  ]);
});
