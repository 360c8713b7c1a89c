import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeMode } from "../../src/code-mode/index.ts";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { type Api, documentOf, serveApi } from "../connectors/engine/api.ts";
import { type HandServer, type ListedTool, serveByHand } from "../connectors/engine/mcp-by-hand.ts";
import { ID } from "../long-integers.ts";
import { longestTurnDuring } from "../turns.ts";

/** The longest turn of the host's event loop that a stranger's data may cause, in milliseconds of processor time. */
const LOOP_MS = 50;
const MANY = 100_000;
/** What an API answers, by the path. */
const ANSWERS: ReadonlyMap<string, string> = new Map([
  ["/digits", "9".repeat(10 * 1024 * 1024)],
  ["/exponent", "[1e999999999, -1e400]"],
  ["/many", `{"ids":[${Array.from({ length: MANY }, () => ID).join(",")}]}`],
  ["/nested", `${"[".repeat(900)}${ID}${"]".repeat(900)}`],
  ["/marked", `["\\u0001${ID}",${ID}]`],
]);
/** Parts of a schema, none of which can be used. Each tool of the hostile servers has a set of them that no other one has. */
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
  { maxLength: -1 },
];
const SERVERS = 5;
const TOOLS_OF_SERVER = 1_000;

/** The tools of a server: the bits of a tool's number are the faults of its properties. */
function faultyTools(server: number): ListedTool[] {
  return Array.from({ length: TOOLS_OF_SERVER }, (_, at) => {
    const number = server * TOOLS_OF_SERVER + at + 1;
    const faults = FAULTS.flatMap((fault, bit) => ((number >> bit) & 1 ? [[`p${bit}`, fault]] : []));
    return {
      name: `tool_${number}`,
      inputSchema: { type: "object", properties: Object.fromEntries(faults) as Record<string, object> },
    };
  });
}

let api: Api;
let hands: readonly HandServer[];
let engine: Engine;
beforeAll(async () => {
  api = await serveApi(({ url }, response) => {
    response.setHeader("content-type", "application/json");
    response.end(ANSWERS.get(url));
  });
  hands = await Promise.all(Array.from({ length: SERVERS }, (_, server) => serveByHand(faultyTools(server))));
  const operations = [...ANSWERS.keys()].map((path) => ["GET", path, path.slice(1), { responses: {} }] as const);
  engine = await createEngine({
    workers: 1,
    connectors: { api: { openapi: { document: await api.write(documentOf(operations)), server: api.origin } } },
    policy: { rules: [{ allow: { connector: ["api", ...hands.map((_, at) => `hand${at}`)] } }] },
    // Two seconds of a processor took fifteen on a busy machine.
    limits: { cpuMs: 2_000, wallMs: 120_000, outputBytes: 4 * 1024 * 1024, memoryMb: 128 },
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
  await Promise.all(hands.map((hand) => hand[Symbol.asyncDispose]()));
});

/** What work resolves with, and the longest turn of the host's loop meanwhile. */
async function measured<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly longestMs: number }> {
  const running = Promise.withResolvers<Result>();
  const longestMs = await longestTurnDuring(() => {
    running.resolve(work());
    return running.promise;
  });
  return { result: await running.promise, longestMs };
}

describe("numbers of a server that are hostile end their own call, or are right, and the host's loop goes on", () => {
  test.each([
    ["digits", /^(?:capability_limit|capability_failed|tool_error|output_too_large|memory_limit)$/],
    ["exponent", /^invalid_output$/],
    ["many", null],
    ["nested", null],
    ["marked", null],
  ])("an answer of hostile numbers: %s", async (name, code) => {
    const { result, longestMs } = await measured(() => engine.execute({ name: `api.${name}`, arguments: {} }));
    if (code === null)
      expect([result.error, JSON.stringify(result.output)]).toEqual([null, expect.stringContaining(`${ID}`)]);
    else expect(result.error?.code).toMatch(code);
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
      "a map of more members than an output may have",
      "new Map(Array.from({ length: 300_000 }, (_, at) => ['k' + at, at]))",
      "output_too_large",
    ],
    ["digits that it writes itself", "JSON.rawJSON('1e400')", "tool_error"],
    ["a hundred thousand long integers", `Array.from({ length: ${MANY} }, (_, at) => 2n ** 60n + BigInt(at))`, null],
    [
      "ten thousand promises",
      "({ all: Array.from({ length: 10_000 }, (_, at) => Promise.resolve(at)) })",
      "invalid_output",
    ],
    [
      "ten thousand promises, each in the value of another",
      "(() => { let value = 1; for (let at = 0; at < 10_000; at++) value = Promise.resolve({ next: value }); return { value }; })()",
      "invalid_output",
    ],
  ])("a result that is more than data: %s", async (_what, code, expected) => {
    const { result, longestMs } = await measured(() => engine.execute({ name: "give", arguments: { code } }));
    expect(result.error?.code ?? null).toBe(expected);
    expect(longestMs).toBeLessThan(LOOP_MS);
    expect((await engine.execute({ name: "give", arguments: { code: "1" } })).output).toBe(1);
  });
});

test("a program's result of ten thousand promises is awaited, also where they are nested, and the loop goes on", async () => {
  const code = `const nested = (left: number): Promise<unknown> => Promise.resolve(left === 0 ? 1 : { next: nested(left - 1) });
    return { nested: nested(5), all: Array.from({ length: 10_000 }, (_, at) => Promise.resolve(at)) };`;
  const { result: ended, longestMs } = await measured(() => codeMode(engine, { typeCheck: "off" }).run(code));
  expect(ended.error).toBeNull();
  const result: unknown = JSON.parse(JSON.stringify(ended.output));
  // A model gets the beginning of a long list.
  expect(result).toMatchObject({ result: { all: expect.arrayContaining(Array.from({ length: 40 }, (_, at) => at)) } });
  expect(JSON.stringify(result)).toContain(`${'{"next":'.repeat(5)}1${"}".repeat(5)}`);
  expect(longestMs).toBeLessThan(LOOP_MS);
});

test("a program's result of ten thousand promises, each in the value of another, ends its own call", async () => {
  const code = `let value: unknown = 1;
    for (let at = 0; at < 10_000; at++) value = Promise.resolve({ next: value });
    return value;`;
  const { result, longestMs } = await measured(() => codeMode(engine, { typeCheck: "off" }).run(code));
  expect(result.error?.code).toBe("invalid_output");
  expect(result.error?.message).toContain("the output is nested deeper than 1000 levels");
  expect(longestMs).toBeLessThan(LOOP_MS);
  expect((await engine.execute({ name: "give", arguments: { code: "1" } })).output).toBe(1);
});

test("5,000 tools of MCP servers, no two of which have the same faults, are all kept, and the loop goes on", async () => {
  const mcp = hands.map(({ origin }, at) => [`hand${at}`, { mcp: { url: `${origin}/mcp` } }] as const);
  const found = () => engine.connectors().filter(({ name }) => name.startsWith("hand"));
  const longestMs = await longestTurnDuring(async () => {
    await engine.reconfigure({ connectors: Object.fromEntries(mcp) });
    await expect
      .poll(() => found().map(({ tools }) => tools.length), { timeout: 300_000 })
      .toEqual(hands.map(() => TOOLS_OF_SERVER));
  });
  expect(longestMs).toBeLessThan(LOOP_MS);
  for (const { findings } of found()) expect(findings.some(({ reason }) => reason.includes("left away"))).toBe(true);
}, 600_000);
