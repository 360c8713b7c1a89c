/** The calls of a fleet under chaos: each kind in a way of its own, and what must come of it whatever is killed meanwhile. */
import type { ToolDefinition } from "../../src/glovebox/index.ts";
import type { Dice } from "../load/dice.ts";

export interface SteadyKind {
  readonly tool: ToolDefinition;
  /** How often it is called, compared with the others. */
  readonly weight: number;
  draw(dice: Dice, id: number): SteadyCall;
}

/** One call's arguments, and what must come of them. */
export interface SteadyCall {
  readonly args: Readonly<Record<string, unknown>>;
  readonly output: unknown;
  /** Steps that have an effect, counted from 0. */
  readonly effects: number;
  readonly lines: number;
  readonly end: "ok" | "tool_error";
  /** Whether two callers ask for it with one key. */
  readonly isKeyed?: boolean;
  /** The caller gives it up after so many milliseconds, where it has not ended by then. */
  readonly abortMs?: number;
}

const QUIET = { effects: 0, lines: 0, end: "ok" } as const;
const WAIT = "const wait = (ms) => new Promise((done) => setTimeout(done, ms));";
const TURNS = 20_000_000;

function tool(name: string, source: string, asks = false): ToolDefinition {
  const capabilities = asks ? { capabilities: { ledger: true } } : {};
  return { name, description: `One of a fleet's steady calls: ${name}.`, source, ...capabilities };
}

const WALK = `${WAIT}
export default async ({ id, steps }, { host }) => {
  let sum = 0;
  for (let step = 0; step < steps; step++) {
    await wait(1 + (step * 7) % 30);
    sum += await host.ledger.add({ id, step });
  }
  return sum;
};`;

/** What the steps of a walk come to: the ledger answers with the step's number. */
function sumTo(steps: number): number {
  return (steps * (steps - 1)) / 2;
}

function drawWalk(dice: Dice, id: number, most: number): SteadyCall {
  const steps = dice.between(2, most);
  return { ...QUIET, args: { id, steps }, output: sumTo(steps), effects: steps };
}

export const STEADY_KINDS: readonly SteadyKind[] = [
  {
    tool: tool("add", "export default ({ a, b }) => a + b;"),
    weight: 6,
    draw: (dice) => {
      const [a, b] = [dice.between(0, 1e6), dice.between(0, 1e6)];
      return { ...QUIET, args: { a, b }, output: a + b };
    },
  },
  { tool: tool("walk", WALK, true), weight: 4, draw: (dice, id) => drawWalk(dice, id, 8) },
  {
    tool: tool(
      "crowd",
      `${WAIT}
export default async ({ id, steps }, { host }) => {
  const fast = [];
  const one = async (step) => {
    if (step % 2 === 1) await wait(step * 3);
    const n = await host.ledger.add({ id, step });
    fast.push(n);
    return n;
  };
  const all = await Promise.all(Array.from({ length: steps }, (_, step) => one(step)));
  return { sum: all.reduce((a, b) => a + b, 0), seen: fast.length };
};`,
      true,
    ),
    weight: 2,
    draw: (dice, id) => {
      const steps = dice.between(2, 8);
      return { ...QUIET, args: { id, steps }, output: { sum: sumTo(steps), seen: steps }, effects: steps };
    },
  },
  {
    tool: tool(
      "chatter",
      `${WAIT}
export default async ({ lines }, { progress }) => {
  for (let line = 0; line < lines; line++) {
    console.log("line", line);
    progress(line + 1, lines);
    await wait(20);
  }
  return lines;
};`,
    ),
    weight: 2,
    draw: (dice) => {
      const lines = dice.between(1, 6);
      return { ...QUIET, args: { lines }, output: lines, lines };
    },
  },
  {
    tool: tool("throw", "export default ({ n }) => { throw new RangeError(`no ${n}`); };"),
    weight: 1,
    draw: (dice) => ({ ...QUIET, args: { n: dice.between(0, 99) }, output: null, end: "tool_error" }),
  },
  {
    tool: tool(
      "compute",
      "export default ({ turns }) => { let h = 0; for (let i = 0; i < turns; i++) h = (Math.imul(h, 31) + i) | 0; return h; };",
    ),
    weight: 0.5,
    draw: () => ({ ...QUIET, args: { turns: TURNS }, output: COMPUTED }),
  },
  {
    tool: tool("given-up", WALK, true),
    weight: 1,
    draw: (dice, id) => ({ ...drawWalk(dice, id, 12), abortMs: dice.between(0, 400) }),
  },
  {
    tool: tool("keyed", WALK, true),
    weight: 1,
    draw: (dice, id) => ({ ...drawWalk(dice, id, 5), isKeyed: true }),
  },
];

/** What `compute` answers. */
const COMPUTED = ((): number => {
  let h = 0;
  for (let i = 0; i < TURNS; i++) h = (Math.imul(h, 31) + i) | 0;
  return h;
})();
