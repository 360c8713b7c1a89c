import { readFile } from "node:fs/promises";
import type { Engine } from "../../src/kernel/engine/engine.ts";
import type { ToolDefinition } from "../../src/kernel/tool/definition.ts";
import { call, openEngine } from "../engines.ts";
import { combine, measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";

const MODULE = new URL("../../fixtures/binaries/wasi/increment.wasm", import.meta.url);
const JAVASCRIPT = "JavaScript";
const WASI = "a command of WASI";
/** The number of a section that means nothing, and how many bytes it has. */
const CUSTOM_SECTION = [0, 6, 1, 0x6e];

/** Cost of a WASI command: its first call on a new isolate, and each further one. */
export const wasi: Scenario = {
  name: "wasi",
  description:
    "a command of WASI that adds one, against the same in JavaScript: registered and called, and called again",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet", "busy"], rounds: 5, sampleMs: 300 },
  async run(context) {
    const bytes = await readFile(MODULE);
    await using engine = await openEngine("process");
    const makers: readonly Maker[] = [
      [WASI, (name) => ({ ...described(name), runtime: "wasi", source: unseen(bytes) })],
      [
        JAVASCRIPT,
        (name) => ({
          ...described(name),
          source: `export default ({ value }) => ({ result: value + 1, made: "${name}" });`,
        }),
      ],
    ];
    for (const [, make] of makers) await engine.register(make(nextName()));
    const cold = await measure(context, {
      subjects: makers.map((maker) => registering(engine, maker)),
      expected,
      latency: { name: "cold_start_us", unit: "us" },
    });
    const subjects: Subject[] = [];
    for (const maker of makers) {
      const { name } = await engine.register(maker[1](nextName()));
      subjects.push({ ...compared(maker), run: (index) => increment(engine, name, index) });
    }
    const warm = await measure(context, { subjects, expected, latency: { name: "latency_us", unit: "us" } });
    return combine([cold, warm]);
  },
};

type Maker = readonly [subject: string, make: (name: string) => ToolDefinition];

let made = 0;

function nextName(): string {
  return `increment-${++made}`;
}

function described(name: string) {
  return { name, description: "Adds one.", inputSchema: { type: "object" } } as const;
}

/** A module that was never compiled before, so that no cache knows it. */
function unseen(bytes: Buffer): string {
  const mark = Buffer.alloc(4);
  mark.writeUInt32LE(made);
  return Buffer.concat([bytes, Buffer.from(CUSTOM_SECTION), mark]).toString("base64");
}

function compared([name]: Maker): Pick<Subject, "name" | "against"> {
  return { name, against: name === JAVASCRIPT ? [] : [JAVASCRIPT] };
}

/** From its bytes, or its text, to its first answer. */
function registering(engine: Engine, maker: Maker): Subject {
  let current = "";
  return {
    ...compared(maker),
    after: async () => {
      await engine.unregister(current);
    },
    run: async (index) => {
      current = (await engine.register(maker[1](nextName()))).name;
      return increment(engine, current, index);
    },
  };
}

async function increment(engine: Engine, name: string, index: number): Promise<number> {
  const output = await call(engine, name, { value: index });
  return (output as { readonly result: number }).result;
}

function expected(index: number): number {
  return index + 1;
}
