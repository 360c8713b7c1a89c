import type { ErrorCode, Limits, ToolDefinition } from "../../src/glovebox/index.ts";

/** One way to do harm: the body of a tool's function, and how its calls may end. */
export interface Hostile {
  readonly name: string;
  readonly body: string;
  readonly ends: readonly ("ok" | ErrorCode)[];
  /** How often it is called, compared with the others: those that cost an executor are rare, as there are kills enough. */
  readonly weight: number;
  readonly limits?: Partial<Limits>;
  /** The caller gives the call up after so many milliseconds. */
  readonly abortMs?: number;
}

const LIMITS: Partial<Limits> = { cpuMs: 30, wallMs: 20_000, memoryMb: 32 };

export const HOSTILES: readonly Hostile[] = [
  { name: "loop", weight: 1, body: "for (;;);", ends: ["cpu_limit"] },
  { name: "late-loop", weight: 1, body: "await wait(20); for (;;);", ends: ["cpu_limit"] },
  // V8 cannot interrupt it: it costs the executor its life.
  {
    name: "wedge",
    weight: 0.2,
    body: "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);",
    ends: ["cpu_limit"],
  },
  {
    name: "late-wedge",
    weight: 0.2,
    body: "await wait(20); Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);",
    ends: ["cpu_limit"],
  },
  {
    name: "heap-bomb",
    weight: 1,
    body: "const a = []; for (;;) a.push(new Array(1e4).fill(1.5));",
    ends: ["memory_limit", "cpu_limit"],
  },
  // V8 aborts the process rather than ending the isolate.
  {
    name: "map-bomb",
    weight: 0.2,
    body: "const m = new Map(); for (let i = 0; ; i++) m.set(i, i);",
    ends: ["memory_limit", "cpu_limit", "executor_crashed"],
  },
  {
    name: "storm",
    weight: 1,
    body: "const again = () => { Promise.resolve().then(again); }; again();",
    ends: ["cpu_limit"],
  },
  {
    name: "getters",
    weight: 0.2,
    body: "Promise.reject({ get message() { for (;;); }, get stack() { for (;;); } });",
    ends: ["ok", "cpu_limit"],
  },
  { name: "proxy", weight: 1, body: "throw new Proxy({}, { get() { for (;;); } });", ends: ["cpu_limit"] },
  { name: "huge", weight: 1, body: "return 'x'.repeat(5e8);", ends: ["output_too_large", "memory_limit", "cpu_limit"] },
  {
    name: "flood",
    weight: 1,
    body: "for (let i = 0; i < 5_000; i++) console.log('x'.repeat(1_000));",
    ends: ["ok", "cpu_limit"],
  },
  { name: "never", weight: 1, body: "return new Promise(() => {});", limits: { wallMs: 200 }, ends: ["wall_limit"] },
  { name: "given-up", weight: 1, body: "for (;;) await wait(5);", abortMs: 150, ends: ["cancelled"] },
  {
    name: "asks-too-often",
    weight: 1,
    body: "for (;;) await host.counter.look({});",
    ends: ["capability_limit", "tool_error", "cpu_limit"],
  },
];

/**
 * Whatever a hostile call wanted: its tool may be refused by then, it may have waited too long in quarantine, behind
 * others of its kind, it may have lost its executor once too often, and
 * one that is killed with it in its turn again and again is to blame for that.
 */
export const ALWAYS: readonly ErrorCode[] = [
  "tool_quarantined",
  "queue_timeout",
  "wall_limit",
  "executor_lost",
  "executor_crashed",
];

/** The same deed under another name, because a name that has cost executors is refused. */
export function hostileTool({ name, body, limits }: Hostile, copy: number): ToolDefinition {
  return {
    name: `${name}-${copy}`,
    description: "Does harm.",
    source: `const wait = (ms) => new Promise((done) => setTimeout(done, ms));
      export default async (input, { host }) => { ${body} };`,
    limits: { ...LIMITS, ...limits },
    capabilities: { counter: true },
  };
}
