import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { expectOutcome } from "../outcome.ts";
import { suiteFolder, SUITES } from "../suites.ts";
import { type Difference, Tally } from "../tally.ts";
import { compare } from "./compare.ts";
import type { RunProgram } from "./program-runner.ts";
import { programsOf } from "./programs.ts";
import { runInNode } from "./run-in-node.ts";
import { ENGINE_LIMITS, LIMITS, programTools, runInTool } from "./run-in-tool.ts";

/** Some files derive hundreds of keys with 100,000 iterations each. */
const FILE_MS = 1_200_000;
const DEADLINE_MS = 20 * FILE_MS;

const DIFFERENCES: readonly Difference[] = [
  {
    program: /\/idlharness\./,
    subtest: /^/,
    kind: "refused",
    reason: "the test of definitions changes built-ins, which are frozen",
  },
  {
    program: /\/eddsa_small_order_points\./,
    subtest: /Test [45]$/,
    kind: "open",
    reason: "Ed25519 is verified with the cofactor, which RFC 8032 allows and OpenSSL does not",
  },
];

const { folder, isWhole } = suiteFolder("wpt-webcrypto");
const harness = readFileSync(join(folder, "resources/testharness.js"), "utf8");
const folders = globSync("WebCryptoAPI/*/", { cwd: folder }).toSorted();
const files = globSync("WebCryptoAPI/*.any.js", { cwd: folder }).toSorted();
const tally = new Tally(DIFFERENCES);

let engine: Engine;
let inNode: RunProgram;

beforeAll(async () => {
  inNode = runInNode(harness, FILE_MS / 2);
  const limits = { ...LIMITS, cpuMs: FILE_MS, wallMs: FILE_MS };
  const before = `Object.defineProperty(globalThis, "CryptoKey", { value: CryptoKey, writable: true, configurable: true });`;
  const tools = programTools(harness, limits, before);
  engine = await createEngine({ executor: "threads", workers: 1, limits: { ...ENGINE_LIMITS }, tools });
});
afterAll(() => engine.close({ drainMs: 0 }));

describe("the tests of Web Crypto that pass in Node pass in a tool that names CryptoKey", () => {
  test.each([...folders, ...files])("%s, but for the known differences", { timeout: DEADLINE_MS }, async (path) => {
    for (const program of programsOf(folder, path)) {
      const found = await compare(program, inNode, runInTool(engine, "instance"));
      for (const [subtest, failure] of found) tally.add(program.name, subtest, failure);
    }
    expect({ unknown: tally.unknown, passing: tally.passing }).toEqual({ unknown: [], passing: [] });
  });

  test.runIf(isWhole)("in at least 95 % of all", () => {
    expect(tally.share).toBeGreaterThanOrEqual(0.95);
  });

  test.runIf(isWhole)("and have the outcome that the page shows", async () => {
    expect(tally.unused).toEqual([]);
    await expectOutcome(
      "wpt-webcrypto",
      tally.outcome("Web Platform Tests, WebCryptoAPI, in tools that use Node's names", SUITES["wpt-webcrypto"].pinned),
    );
  });
});
