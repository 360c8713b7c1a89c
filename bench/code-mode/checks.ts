/** The checker of programs: its latency, what it takes of the machine, and what hostile programs do to others. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { catalogOf } from "../../fixtures/code-mode/catalog.ts";
import { type CodeMode, codeMode } from "../../src/code-mode/index.ts";
import type { Engine } from "../../src/kernel/engine/engine.ts";
import type { ToolDefinition } from "../../src/kernel/tool/definition.ts";
import { call, openEngineAsItComes, sumOf } from "../engines.ts";
import { inRounds, pick } from "../rounds.ts";
import { combine, measure, type Subject } from "../sampling.ts";
import type { Context, Findings } from "../scenario.ts";
import { summarize } from "../statistics.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

const COMPILER = "tsc";
const MIB = 1024 * 1024;
const PAGE_BYTES = 4_096;
const SAMPLE_EVERY_MS = 2;
const PROGRAMS = 64;
const SOURCE = "export default (input) => input;";

/** Forty lines over three tools. */
function programOf(number: number): string {
  const body = Array.from(
    { length: 12 },
    (_, at) => `const invoices${at} = await tools.billing.list_invoices({ limit: "5", customer: "c${at}" });
total += (invoices${at}.items ?? []).filter(({ currency }) => currency === "EUR").length;
names.set("c${at}", [...(names.get("c${at}") ?? []), String(total)]);`,
  );
  return `// ${number}\nlet total = 0;\nconst names = new Map<string, string[]>();\n${body.join("\n")}\nreturn ${number};`;
}

const BOMBS = [
  "type A<T> = T extends [infer H, ...infer R] ? [...A<R>, H, ...A<R>] : [];\nconst x: A<[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]> = 1;\nreturn x;",
  `type U = ${Array.from({ length: 400 }, (_, at) => `{ a${at}: ${at} }`).join(" | ")};\ntype V = { [K in keyof U]: U };\nlet a: U & U & V; let b: U | V; return [a, b].length;`,
  `type S = "${"0123456789".split("").join('" | "')}";\ntype T = \`\${S}\${S}\${S}\${S}\${S}\${S}\`;\nlet t: T; return t;`,
];

let programs = 0;

async function openMode(copies: number): Promise<{ readonly engine: Engine; readonly mode: CodeMode }> {
  const engine = await openEngineAsItComes("process", { workers: 1 });
  await engine.register(addTool("add"));
  const tools = catalogOf(1).slice(0, copies * 300);
  const wanted = tools.filter(({ name }) => copies === 1 || name.startsWith("billing."));
  await Promise.all(wanted.map((tool) => engine.register({ ...tool, source: SOURCE } as ToolDefinition)));
  return { engine, mode: codeMode(engine) };
}

/** Programs that were never checked before. */
function checkWith(mode: CodeMode): Subject["run"] {
  return async (index) => ((await mode.check(programOf(++programs))).length === 0 ? index : Number.NaN);
}

interface Use {
  readonly processes: number;
  readonly mib: number;
}

/** Compilers below a process, and their memory. */
function compilersBelow(pid: string): Use {
  let [processes, mib] = [0, 0];
  try {
    if (readlinkSync(`/proc/${pid}/exe`).endsWith(`/${COMPILER}`)) {
      processes++;
      mib += (Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * PAGE_BYTES) / MIB;
    }
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      for (const child of readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").trim().split(" ")) {
        const below = child === "" ? null : compilersBelow(child);
        processes += below?.processes ?? 0;
        mib += below?.mib ?? 0;
      }
    }
  } catch {
    // It has ended.
  }
  return { processes, mib };
}

/** The most that compilers take while 64 programs are sent at once. */
async function flood(mode: CodeMode): Promise<Use> {
  let [processes, mib, isOver] = [0, 0, false];
  const watching = (async () => {
    while (!isOver) {
      const now = compilersBelow(String(process.pid));
      processes = Math.max(processes, now.processes);
      mib = Math.max(mib, now.mib);
      await delay(SAMPLE_EVERY_MS);
    }
  })();
  const results = await Promise.all(
    Array.from({ length: PROGRAMS }, () => mode.run(`const n: number = ${++programs};\nreturn n;`)),
  );
  isOver = true;
  await watching;
  for (const { error } of results) if (error !== null) throw new Error(error.message);
  return { processes, mib };
}

async function measureFlood(context: Context, mode: CodeMode): Promise<Findings> {
  const subjects = [{ name: `${PROGRAMS} programs at once`, against: [] }];
  const rounds = await inRounds(context, subjects, "compilers", () => flood(mode));
  const rows = [
    ...summarize(
      { name: "compilers_at_most", unit: "", better: "lower" },
      subjects,
      pick(rounds, ({ processes }) => processes),
    ),
    ...summarize(
      { name: "compilers_mib_at_most", unit: "MiB", better: "lower" },
      subjects,
      pick(rounds, ({ mib }) => mib),
    ),
  ];
  return { rows, checksum: "" };
}

/** A call of a tool, alone and while types are checked that take long. */
async function measureBombs(
  context: Context,
  { engine, mode }: { readonly engine: Engine; readonly mode: CodeMode },
): Promise<Findings> {
  let bombs: Promise<unknown> = Promise.resolve();
  let isOver = false;
  const explode = async (): Promise<void> => {
    while (!isOver) await Promise.all(BOMBS.map((code) => mode.check(`// ${++programs}\n${code}`)));
  };
  const run = async (index: number) => sumOf(await call(engine, "add", addArguments(index)));
  const alone = "a call";
  const subject: Subject = { name: alone, against: [], run };
  const latency = { name: "call_ms", unit: "ms" } as const;
  const quiet = await measure(context, { subjects: [subject], expected: expectedSum, latency });
  bombs = explode();
  const beside: Subject = { name: "a call beside three type bombs", against: [], run };
  const loud = await measure(context, { subjects: [beside], expected: expectedSum, latency });
  isOver = true;
  await bombs;
  return combine([quiet, loud]);
}

export async function measureChecks(context: Context): Promise<Findings> {
  await using opened = new AsyncDisposableStack();
  const few = await openMode(0.1);
  const many = await openMode(1);
  opened.use(few.engine);
  opened.use(many.engine);
  const latency = await measure(context, {
    subjects: [
      { name: "a check, 30 tools", against: [], run: checkWith(few.mode) },
      { name: "a check, 300 tools", against: [], run: checkWith(many.mode) },
    ],
    expected: (index) => index,
    latency: { name: "check_ms", unit: "ms" },
  });
  const taken = await measureFlood(context, few.mode);
  const bombs = await measureBombs(context, few);
  return combine([latency, taken, bombs]);
}
