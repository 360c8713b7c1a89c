/** Twenty tools that do nothing wrong, each in a way of its own, and what calls of them must come to. */
import type { ErrorCode, ToolDefinition } from "../../src/glovebox/index.ts";
import type { Dice } from "./dice.ts";

export interface Innocent {
  readonly tool: ToolDefinition;
  /** How often it is called, compared with the others. */
  readonly weight: number;
  /** Arguments of one call; where it waits for something, then for at most `slowMs`. */
  draw(dice: Dice, slowMs: number): Drawn;
}

/** One call's arguments, and what they must lead to. */
export interface Drawn {
  readonly args: Record<string, unknown>;
  readonly output: unknown;
  /** How often the call asks the host to count. */
  readonly effects: number;
  /** The lines it logs. */
  readonly logs: number;
  readonly end: "ok" | ErrorCode;
}

const QUIET = { effects: 0, logs: 0, end: "ok" } as const;
const WAIT = "const wait = (ms) => new Promise((done) => setTimeout(done, ms));";

function tool(name: string, source: string, more: Partial<ToolDefinition> = {}): ToolDefinition {
  return { name, description: `Does nothing wrong: ${name}.`, source, ...more };
}

function asking(name: string, source: string): ToolDefinition {
  return tool(name, source, { capabilities: { counter: true } });
}

const quick: readonly Innocent[] = [
  {
    tool: tool("add", "export default ({ a, b }) => ({ sum: a + b });", {
      inputSchema: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
      },
      outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
    }),
    weight: 8,
    draw: (dice) => {
      const [a, b] = [dice.between(0, 1e6), dice.between(0, 1e6)];
      return { ...QUIET, args: { a, b }, output: { sum: a + b } };
    },
  },
  {
    tool: tool("echo", "export default ({ text }) => text;"),
    weight: 4,
    draw: (dice) => {
      const text = "é".repeat(dice.between(0, 500));
      return { ...QUIET, args: { text }, output: text };
    },
  },
  {
    tool: tool("measure", "export default ({ text }) => text.length;"),
    weight: 1,
    draw: (dice) => {
      const length = dice.between(10_000, 60_000);
      return { ...QUIET, args: { text: "x".repeat(length) }, output: length };
    },
  },
  {
    tool: tool("sort", "export default ({ numbers }) => numbers.toSorted((a, b) => a - b);"),
    weight: 2,
    draw: (dice) => {
      const numbers = Array.from({ length: dice.between(0, 50) }, () => dice.between(0, 999));
      return { ...QUIET, args: { numbers }, output: numbers.toSorted((a, b) => a - b) };
    },
  },
  {
    tool: tool("words", "export default ({ text }) => text.match(/\\w+/g)?.length ?? 0;"),
    weight: 2,
    draw: (dice) => {
      const output = dice.between(0, 40);
      return { ...QUIET, args: { text: "word ".repeat(output) }, output };
    },
  },
  {
    tool: tool("fill-in", "export default ({ name, greeting }) => `${greeting}, ${name}`;", {
      inputSchema: {
        type: "object",
        properties: { name: { type: "string" }, greeting: { type: "string", default: "Hello" } },
        required: ["name"],
      },
    }),
    weight: 2,
    draw: (dice) => {
      const name = `n${dice.between(0, 999)}`;
      return { ...QUIET, args: { name }, output: `Hello, ${name}` };
    },
  },
  {
    tool: tool("throw", "export default ({ n }) => { throw new RangeError(`no ${n}`); };"),
    weight: 1,
    draw: (dice) => ({ ...QUIET, args: { n: dice.between(0, 99) }, output: null, end: "tool_error" }),
  },
  {
    tool: tool("refuse", "export default ({ n }) => n;", {
      inputSchema: { type: "object", properties: { n: { type: "string" } }, required: ["n"] },
    }),
    weight: 1,
    draw: (dice) => ({ ...QUIET, args: { n: dice.between(0, 99) }, output: null, end: "invalid_arguments" }),
  },
  {
    tool: tool("log", "export default ({ lines }) => { for (let i = 0; i < lines; i++) console.log('line', i); };"),
    weight: 2,
    draw: (dice) => {
      const logs = dice.between(1, 5);
      return { ...QUIET, args: { lines: logs }, output: null, logs };
    },
  },
];

const long: readonly Innocent[] = [
  {
    tool: tool(
      "compute",
      "export default ({ n }) => { let h = 0; for (let i = 0; i < n; i++) h = (h * 31 + i) | 0; return h; };",
    ),
    weight: 1,
    draw: (dice) => {
      const n = dice.between(1, 300_000);
      let output = 0;
      for (let i = 0; i < n; i++) output = (output * 31 + i) | 0;
      return { ...QUIET, args: { n }, output };
    },
  },
  {
    tool: tool("sleep", `${WAIT} export default async ({ ms }) => { await wait(ms); return "awake"; };`),
    weight: 3,
    draw: (dice, slowMs) => ({ ...QUIET, args: { ms: dice.between(1, slowMs) }, output: "awake" }),
  },
  {
    tool: tool(
      "nap",
      `${WAIT} export default async ({ ms }) => { let naps = 0; for (; naps < 4; naps++) await wait(ms); return naps; };`,
    ),
    weight: 2,
    draw: (dice, slowMs) => ({ ...QUIET, args: { ms: dice.between(0, Math.ceil(slowMs / 4)) }, output: 4 }),
  },
  {
    tool: tool(
      "await",
      "export default async ({ n }) => { let sum = 0; for (let i = 0; i < n; i++) sum += await i; return sum; };",
    ),
    weight: 2,
    draw: (dice) => {
      const n = dice.between(1, 100);
      return { ...QUIET, args: { n }, output: (n * (n - 1)) / 2 };
    },
  },
];

const levels: readonly Innocent[] = [
  {
    tool: tool(
      "cache",
      "const known = new Map(); export default ({ n }) => known.get(n) ?? known.set(n, n * n).get(n);",
      { isolation: "shared" },
    ),
    weight: 2,
    draw: (dice) => {
      const n = dice.between(0, 99);
      return { ...QUIET, args: { n }, output: n * n };
    },
  },
  {
    tool: tool(
      "patch",
      "export default ({ n }) => { const was = [].seen; Array.prototype.seen = n; return was ?? [].seen; };",
      { isolation: "context" },
    ),
    weight: 0.5,
    draw: (dice) => {
      const n = dice.between(1, 99);
      return { ...QUIET, args: { n }, output: n };
    },
  },
  {
    tool: tool("alone", "export default ({ n }) => n + 1;", { isolation: "isolate" }),
    weight: 0.1,
    draw: (dice) => {
      const n = dice.between(0, 99);
      return { ...QUIET, args: { n }, output: n + 1 };
    },
  },
];

const askers: readonly Innocent[] = [
  {
    tool: asking("ask-once", "export default ({ by }, { host }) => host.counter.add({ by });"),
    weight: 3,
    draw: (dice) => {
      const by = dice.between(1, 9);
      return { ...QUIET, args: { by }, output: { by }, effects: 1 };
    },
  },
  {
    tool: asking(
      "ask-in-turn",
      "export default async ({ all }, { host }) => { let sum = 0; for (const by of all) sum += (await host.counter.add({ by })).by; return sum; };",
    ),
    weight: 2,
    draw: (dice) => drawAll(dice, (all) => ({ all })),
  },
  {
    tool: asking(
      "ask-at-once",
      `export default async ({ all, late }, { host }) => {
        const got = await Promise.all(all.map((by, i) => host.counter.late({ by, ms: late[i] })));
        return got.reduce((sum, { by }) => sum + by, 0);
      };`,
    ),
    weight: 2,
    draw: (dice, slowMs) =>
      drawAll(dice, (all) => ({ all, late: all.map(() => dice.between(0, Math.ceil(slowMs / 4))) })),
  },
  {
    // What each of the two chains asks next depends on which answer comes first.
    tool: asking(
      "ask-in-chains",
      `${WAIT} export default async ({ all, late, ms }, { host }) => {
        const chain = async (own) => {
          let sum = 0;
          for (const i of own) sum += (await host.counter.late({ by: all[i], ms: late[i] })).by;
          return sum;
        };
        const sums = await Promise.all([chain([0, 2, 4]), chain([1, 3, 5])]);
        await wait(ms);
        return sums[0] + sums[1];
      };`,
    ),
    weight: 2,
    draw: (dice, slowMs) => {
      const all = Array.from({ length: 6 }, () => dice.between(1, 9));
      const late = all.map(() => dice.between(0, Math.ceil(slowMs / 8)));
      const output = all.reduce((sum, by) => sum + by, 0);
      return { ...QUIET, args: { all, late, ms: dice.between(0, slowMs) }, output, effects: all.length };
    },
  },
];

/** Between one and six things to count, and what they sum up to. */
function drawAll(dice: Dice, argumentsOf: (all: number[]) => Record<string, unknown>): Drawn {
  const all = Array.from({ length: dice.between(1, 6) }, () => dice.between(1, 9));
  const output = all.reduce((sum, by) => sum + by, 0);
  return { ...QUIET, args: argumentsOf(all), output, effects: all.length };
}

export const INNOCENTS: readonly Innocent[] = [...quick, ...long, ...levels, ...askers];
