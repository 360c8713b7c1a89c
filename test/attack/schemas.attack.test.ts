import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createEngine,
  type Engine,
  type JsonSchema,
  type ToolDefinition,
  type ToolResult,
} from "../../src/glovebox/index.ts";
import { executors } from "../processes.ts";
import { TurnMeter } from "../turns.ts";

/** The longest turn of the host's event loop, in milliseconds of its processor time: on a quiet machine it has 40. */
const STALL_MAX_MS = 100;
const CPU_MS = 200;
/** The last are many times more than the time of a call allows, and fewer than make too much code. */
const LEVELS = [4, 6, 8, 10, 14];

let engine: Engine;
/** Processor time of the executor for the first call of a tool, which opens an isolate: it is nobody's. */
let openingMs = 0;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "process" });
  const source = "export default () => 1;";
  const opened: number[] = [];
  for (let at = 0; at < 5; at++)
    opened.push((await attacked({ source, inputSchema: { required: [] } }, {})).usedMs ?? 0);
  openingMs = opened.sort((a, b) => a - b)[2] ?? 0;
});

afterAll(() => engine.close());

/** A schema whose references double at every level. */
function doubling(leaf: object, levels: number): JsonSchema {
  const definitions: Record<string, object> = { d0: leaf };
  for (let level = 1; level <= levels; level++) {
    const next = { $ref: `#/definitions/d${level - 1}` };
    definitions[`d${level}`] = { allOf: [next, next] };
  }
  return { $ref: `#/definitions/d${levels}`, definitions };
}

/** Processor time of the executor's process so far, in milliseconds; `null` where the system does not tell it. */
function executorMs(): number | null {
  const [pid] = executors();
  if (pid === undefined) return null;
  const tasks = `/proc/${pid}/task`;
  const used = readdirSync(tasks).map((task) =>
    Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]),
  );
  return used.reduce((sum, ns) => sum + ns / 1e6, 0);
}

interface Attacked {
  readonly result: ToolResult;
  /** The longest turn of the host's event loop during the call, in processor time: other work does not count. */
  readonly stallMs: number;
  /** Processor time of the executor during the call; `null` where the system does not tell it. */
  readonly usedMs: number | null;
}

/** Runs a call of a tool that is registered for it. */
async function attacked(
  tool: Omit<ToolDefinition, "name" | "description">,
  args: Readonly<Record<string, unknown>>,
): Promise<Attacked> {
  await engine.register({ name: "hostile", description: "d", limits: { cpuMs: CPU_MS }, ...tool } as ToolDefinition);
  const startMs = executorMs();
  using turns = new TurnMeter();
  const result = await engine.execute({ name: "hostile", arguments: args });
  turns.stop();
  const endMs = executorMs();
  return { result, stallMs: turns.longestMs, usedMs: startMs === null || endMs === null ? null : endMs - startMs };
}

const MANY = Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`k${at}`, 0]));
/** So many that the last levels take eight times as long as a call may: quick machines have their limit, too. */
const ZEROS = Array<number>(49_000).fill(0);
const LEAVES: readonly (readonly [string, object, Readonly<Record<string, unknown>>])[] = [
  ["minProperties", { minProperties: 1 }, MANY],
  ["const", { properties: { list: { const: ZEROS } } }, { list: ZEROS }],
  ["enum", { properties: { list: { enum: [1, ZEROS] } } }, { list: ZEROS }],
];

/** Runs the same attack with more and more references: the first have a verdict, the last take too long. */
async function double(
  what: string,
  attack: (levels: number) => Promise<Attacked>,
  place: "arguments" | "output",
): Promise<void> {
  let chargedMs = 0;
  let usedMs = 0;
  let worstMs = 0;
  let checksCut = 0;
  for (const levels of LEVELS) {
    const { result, stallMs, usedMs: ownMs } = await attack(levels);
    const { success, error, metadata } = result;
    const isCut = error?.code === "cpu_limit";
    expect(isCut || success, `${what}, ${levels} levels: ${error?.message}`).toBe(true);
    if (isCut) {
      // A machine with other work has cold caches: the tool itself may use up what is meant for the check.
      const used = `the call used more than ${CPU_MS} ms of processor time (limits.cpuMs)`;
      expect([used, `${used} while checking the ${place}`]).toContain(error.message);
      if (error.message !== used) checksCut++;
      expect(metadata.cpuMs).toBeGreaterThanOrEqual(CPU_MS);
    }
    if (levels === LEVELS.at(-1)) expect(error?.code, what).toBe("cpu_limit");
    worstMs = Math.max(worstMs, stallMs);
    // Compiling the code of the checks in a new isolate is nobody's, and most of what a short check takes.
    if (!isCut) continue;
    chargedMs += metadata.cpuMs;
    usedMs += ownMs === null ? metadata.cpuMs : ownMs - openingMs;
  }
  console.info(`${what}: loop ${worstMs.toFixed(0)} ms, charged ${chargedMs.toFixed(0)} of ${usedMs.toFixed(0)} ms`);
  expect(checksCut, what).toBeGreaterThan(0);
  expect(chargedMs / usedMs, what).toBeGreaterThan(0.8);
  expect(chargedMs / usedMs, what).toBeLessThan(1.2);
  expect(worstMs, what).toBeLessThan(STALL_MAX_MS);
}

test("a schema of arguments whose references double at every level", async () => {
  for (const [keyword, leaf, args] of LEAVES) {
    const source = "export default () => 1;";
    const attack = (levels: number) => attacked({ source, inputSchema: doubling(leaf, levels) }, args);
    await double(`arguments, ${keyword}`, attack, "arguments");
  }
});

test("a schema of outputs whose references double at every level", async () => {
  for (const isolation of ["instance", "context"] as const) {
    for (const [keyword, leaf] of LEAVES) {
      const list = "Array(49000).fill(0)";
      const many = 'Object.fromEntries(Array.from({ length: 30000 }, (_, at) => ["k" + at, 0]))';
      const source = `export default () => (${keyword === "minProperties" ? many : `{ list: ${list} }`});`;
      const attack = (levels: number) => attacked({ source, isolation, outputSchema: doubling(leaf, levels) }, {});
      await double(`output, ${keyword}, ${isolation}`, attack, "output");
    }
  }
});

test("a pattern of a schema that backtracks without end", async () => {
  const inputSchema = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } };
  const { result, stallMs } = await attacked(
    { source: "export default () => 1;", inputSchema },
    { a: `${"a".repeat(5_000)}!` },
  );
  expect(result.error?.code).toBe("cpu_limit");
  expect(stallMs).toBeLessThan(STALL_MAX_MS);
});

test("calls beside one whose check takes too long", async () => {
  await engine.register({
    name: "beside",
    description: "d",
    limits: { cpuMs: CPU_MS },
    inputSchema: { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } },
    source: "export default ({ a }) => a.length;",
  });
  const call = (a: unknown) => engine.execute({ name: "beside", arguments: { a } });
  const results = await Promise.all([call("a"), call("aa"), call(`${"a".repeat(5_000)}!`), call(1), call("aaa")]);
  const ends = results.map(({ success, output, error }) => (success ? output : error?.code));
  expect(ends).toEqual([1, 2, "cpu_limit", "invalid_arguments", 3]);
});

test("an output that its schema refuses, of a tool that changes what checks use", async () => {
  const change = `for (const [of, name, value] of [
    [Array, "isArray", () => true], [Object, "keys", () => []], [RegExp.prototype, "exec", () => ["a"]],
    [RegExp.prototype, "test", () => true], [JSON, "parse", () => ({ n: "a" })], [Number, "isInteger", () => true],
    [Object.prototype, "hasOwnProperty", () => true], [Array.prototype, "map", () => []],
  ]) try { of[name] = value; } catch {}`;
  const outputSchema = {
    type: "object",
    properties: { n: { type: "string", pattern: "^a$" }, list: { type: "array", uniqueItems: true } },
    required: ["n"],
    additionalProperties: false,
  };
  const source = `export default async ({ wait, output }) => { ${change}
    if (wait) await new Promise((resolve) => setTimeout(resolve, 1));
    return output; };`;
  const refused = [{ n: "b" }, { n: 1 }, {}, { n: "a", list: [1, 1] }, { n: "a", other: 1 }, [], null, "a"];
  for (const isolation of ["instance", "context", "isolate", "shared"] as const) {
    await engine.register({ name: "changed", description: "d", isolation, outputSchema, source });
    const call = (args: object) => engine.execute({ name: "changed", arguments: { ...args } });
    for (const wait of [false, true]) {
      for (const output of refused) {
        const { error } = await call({ wait, output });
        expect(error, `${JSON.stringify(output)} at level ${isolation}`).toMatchObject({
          code: "invalid_output",
          message: "the output does not match the tool's outputSchema",
        });
      }
    }
    const valid = await call({ output: { n: "a", list: [1, 2] } });
    expect(valid.output, isolation).toEqual({ n: "a", list: [1, 2] });
  }
});

test("registrations of schemas of five thousand objects", async () => {
  const one = (at: number): JsonSchema => ({
    type: "object",
    title: `${at}`,
    properties: Object.fromEntries(Array.from({ length: 4_990 }, (_, name) => [`p${name}`, { type: "string" }])),
  });
  const source = "export default () => 1;";
  const registered = await Promise.allSettled(
    Array.from({ length: 5 }, (_, at) =>
      engine.register({ name: `large${at}`, description: "d", source, inputSchema: one(at) }),
    ),
  );
  for (const end of registered) {
    if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "load_error" });
  }
});
