import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeMode } from "../../src/code-mode/index.ts";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { type Api, documentOf, serveApi } from "../connectors/engine/api.ts";
import { type HandServer, serveByHand } from "../connectors/engine/mcp-by-hand.ts";
import { longestTurnDuring } from "../turns.ts";

/**
 * The longest turn of the host's event loop that a stranger's data may cause, in milliseconds of processor time: less than
 * 50 on a quiet machine. Caches that others use, and a collection of garbage, make it several times that.
 */
const LOOP_MS = 250;
const ID = "1915883588174806058";
/** What an API answers, by the path. */
const ANSWERS: ReadonlyMap<string, string> = new Map([
  ["/digits", "9".repeat(10 * 1024 * 1024)],
  ["/exponent", "[1e999999999, -1e400]"],
  ["/many", `{"ids":[${Array.from({ length: 40_000 }, () => ID).join(",")}]}`],
  ["/nested", `${"[".repeat(900)}${ID}${"]".repeat(900)}`],
  ["/marked", `["\\u0001${ID}",${ID}]`],
]);
/** Parts of a schema, none of which can be used. */
const FAULTS: readonly object[] = [
  { $ref: "#/$defs/Missing" },
  { pattern: "^(?i)a$" },
  { type: "str" },
  { required: true },
  { enum: [] },
  { properties: null },
  { items: "string" },
  { anyOf: [] },
  { $ref: "https://example.com/a" },
  { minimum: "1" },
  { $dynamicRef: "#nowhere" },
  { allOf: [null] },
];

let api: Api;
let hand: HandServer;
let engine: Engine;
beforeAll(async () => {
  api = await serveApi(({ url }, response) => {
    response.setHeader("content-type", "application/json");
    response.end(ANSWERS.get(url));
  });
  hand = await serveByHand(
    Array.from({ length: 5_000 }, (_, at) => {
      const property = { ...FAULTS[at % FAULTS.length], [`x-${at}`]: at };
      return { name: `tool_${at}`, inputSchema: { type: "object", properties: { a: property } } };
    }),
  );
  const operations = [...ANSWERS.keys()].map((path) => ["GET", path, path.slice(1), { responses: {} }] as const);
  engine = await createEngine({
    workers: 1,
    connectors: { api: { openapi: { document: await api.write(documentOf(operations)), server: api.origin } } },
    policy: { rules: [{ allow: { connector: ["api", "hand"] } }] },
    // Two seconds of a processor took fifteen on a busy machine.
    limits: { cpuMs: 2_000, wallMs: 120_000 },
    tools: [
      {
        name: "give",
        description: "Gives a value.",
        source: "export default ({ code }) => (0, eval)('(' + code + ')');",
      },
    ],
  });
});
afterAll(async () => {
  await engine.close();
  await api[Symbol.asyncDispose]();
  await hand[Symbol.asyncDispose]();
});

describe("numbers of a server that are hostile end their own call, or are right, and the host's loop goes on", () => {
  test.each([
    ["digits", /^(?:capability_limit|capability_failed|tool_error|output_too_large|memory_limit)$/],
    ["exponent", /^invalid_output$/],
    ["many", null],
    ["nested", null],
    ["marked", null],
  ])("an answer of hostile numbers: %s", async (name, code) => {
    let said = "";
    let output: unknown;
    const longestMs = await longestTurnDuring(async () => {
      const result = await engine.execute({ name: `api.${name}`, arguments: {} });
      said = result.error?.code ?? "";
      ({ output } = result);
    });
    if (code === null) expect([said, JSON.stringify(output)]).toEqual(["", expect.stringContaining(ID)]);
    else expect(said).toMatch(code);
    expect(longestMs).toBeLessThan(LOOP_MS);
  });
});

describe("values of a tool that are hostile end their own call", () => {
  test.each([
    ["a map that holds itself", "(() => { const map = new Map(); return map.set('a', map); })()", "invalid_output"],
    ["a set that holds itself", "(() => { const set = new Set(); return set.add(set); })()", "invalid_output"],
    ["a getter that never ends", "({ get a() { for (;;); }, b: null })", "cpu_limit"],
    [
      "a getter that makes more of itself",
      "(() => { const make = () => ({ get a() { return make(); }, b: null }); return make(); })()",
      "invalid_output",
    ],
    ["a toJSON that never ends", "({ toJSON() { for (;;); } })", "cpu_limit"],
    [
      "an error whose name never ends",
      "[Object.defineProperty(new Error(), 'name', { get() { for (;;); } })]",
      "cpu_limit",
    ],
    ["a bigint of a million digits", "2n ** 4_000_000n", "invalid_output"],
    [
      "a map of a million members",
      "new Map(Array.from({ length: 1_000_000 }, (_, at) => ['k' + at, at]))",
      "output_too_large",
    ],
    ["digits that it writes itself", "JSON.rawJSON('1e400')", "tool_error"],
    [
      "a hundred thousand long integers",
      "Array.from({ length: 100_000 }, (_, at) => 2n ** 60n + BigInt(at))",
      "output_too_large",
    ],
    [
      "ten thousand promises",
      "({ all: Array.from({ length: 10_000 }, (_, at) => Promise.resolve(at)) })",
      "invalid_output",
    ],
  ])("a result that is more than data: %s", async (_what, code, expected) => {
    const { error } = await engine.execute({ name: "give", arguments: { code } });
    expect(error?.code).toBeOneOf([expected, "memory_limit", "cpu_limit"]);
    expect((await engine.execute({ name: "give", arguments: { code: "1" } })).output).toBe(1);
  });
});

test("a program's result of ten thousand promises is awaited, also where they are nested, and the loop goes on", async () => {
  const code = `const nested = (left: number): Promise<unknown> => Promise.resolve(left === 0 ? 1 : { next: nested(left - 1) });
    return { nested: nested(5), all: Array.from({ length: 10_000 }, (_, at) => Promise.resolve(at)) };`;
  let result: unknown;
  const longestMs = await longestTurnDuring(async () => {
    const { output, error } = await codeMode(engine, { typeCheck: "off" }).run(code);
    expect(error).toBeNull();
    result = JSON.parse(JSON.stringify(output));
  });
  // A model gets the beginning of a long list.
  expect(result).toMatchObject({ result: { all: expect.arrayContaining(Array.from({ length: 40 }, (_, at) => at)) } });
  expect(JSON.stringify(result)).toContain(`${'{"next":'.repeat(5)}1${"}".repeat(5)}`);
  expect(longestMs).toBeLessThan(LOOP_MS);
});

test("a server of 5,000 tools, each of whose schemas has a fault, keeps all that are taken, and the loop goes on", async () => {
  const longestMs = await longestTurnDuring(async () => {
    await engine.reconfigure({
      connectors: {
        api: { openapi: { document: await api.write(documentOf([])), server: api.origin } },
        hand: { mcp: { url: `${hand.origin}/mcp` } },
      },
    });
    await expect.poll(() => engine.connectors().find(({ name }) => name === "hand")?.tools.length).toBe(1_000);
  });
  expect(longestMs).toBeLessThan(LOOP_MS);
  const found = engine.connectors().find(({ name }) => name === "hand")?.findings ?? [];
  expect(found.some(({ reason }) => reason.includes("left away"))).toBe(true);
});
