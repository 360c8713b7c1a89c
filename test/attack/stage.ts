import { fileURLToPath } from "node:url";
import {
  createEngine,
  defineCapability,
  type Engine,
  GloveboxError,
  type ToolResult,
} from "../../src/glovebox/index.ts";
import { type Memory, measureMemory, Pulse, settledGrowth } from "./measures.ts";
import {
  type End,
  EXECUTORS_GROWTH_MB,
  HOST_GROWTH_MB,
  type Hazard,
  INNOCENTS,
  LIMITS,
  PATIENT_MS,
  type Run,
} from "./plan.ts";

/** Calls that are not answered by then never will be: the engine has broken its promise. */
const PATIENCE_MS = 150_000;

/** Waits as tools do that ask somebody else, so it is in flight whatever happens beside it; 0 ms once that is over. */
const INNOCENT = `export default async ({ n, ms = 200 }) => {
  await new Promise((done) => setTimeout(done, ms));
  let sum = 0;
  for (let i = 1; i <= n; i++) sum += i;
  return { n, sum };
};`;

/** The same in Python, of which two calls wait in one interpreter. */
const PYTHON_INNOCENT = `import time
def execute(input):
  time.sleep(input.get("ms", 200) / 1000)
  return {"n": input["n"], "sum": sum(range(input["n"] + 1))}
`;
const PYTHON_INNOCENTS = 2;

/** Describes the world that a tool finds: what another tool has done to it would show. */
const WITNESS = `export default () => [Object, Array, Function, Promise, String, RegExp, Error, Map, Symbol, JSON, Math, Reflect]
  .flatMap((each) => [each, each.prototype ?? {}])
  .map((each) => Reflect.ownKeys(each).map((key) => String(key)).join())
  .concat(Object.getOwnPropertyNames(globalThis), JSON.stringify({ a: [1] }), typeof process)
  .join("|");`;

/** Registration options of a tool besides its source. */
export type Extras = Pick<Hazard, "limits" | "isolation" | "retries" | "runtime">;
export type Outcome = ToolResult | GloveboxError | "registered" | undefined;

/** How long an attack took, where that is not the time of everything that it did, and its limit. */
export interface Act {
  readonly outcome: Outcome;
  readonly timed?: { readonly ms: number; readonly limits: Hazard["limits"]; readonly idles: boolean };
}

/** An engine with a capability, on which attacks are played among innocent calls. */
export class Stage {
  readonly engine: Engine;
  /** What scenes have opened: closed with the stage. */
  readonly props = new AsyncDisposableStack();
  readonly #pulse = new Pulse();
  readonly #familyPulse = new Pulse();
  #world: unknown;
  #start: Memory = { hostMb: 0, executorsMb: [] };
  #registered = 0;
  readonly #innocents: readonly string[];

  private constructor(engine: Engine, innocents: readonly string[]) {
    this.engine = engine;
    this.#innocents = innocents;
  }

  /** `python`: among its innocents are some of Python's. */
  static async open(python = false): Promise<Stage> {
    let failures = 0;
    const vault = defineCapability({
      name: "vault",
      methods: {
        echo: { handler: (args: unknown) => args },
        slow: { handler: (args: unknown) => new Promise((done) => setTimeout(done, 300, args)) },
        fails: { handler: () => Promise.reject(new Error("the vault is shut")) },
        sometimes: { handler: () => (failures++ % 3 === 2 ? "open" : Promise.reject(new Error("not yet"))) },
      },
    });
    const stage = new Stage(
      await createEngine({
        executor: "process",
        workers: 2,
        // Innocent calls wait behind attacks that use up their processor time.
        limits: { wallMs: PATIENT_MS, queueMs: PATIENT_MS },
        capabilities: [vault],
        policy: { rules: [{ tools: ["*"], allow: { vault: true, native: true } }] },
      }),
      [
        ...Array.from({ length: INNOCENTS }, () => "innocent"),
        ...Array.from({ length: python ? PYTHON_INNOCENTS : 0 }, () => "innocent-python"),
      ],
    );
    await stage.#warmUp();
    return stage;
  }

  async #warmUp(): Promise<void> {
    await this.engine.register({ name: "innocent", description: "sums", source: INNOCENT });
    if (this.#innocents.includes("innocent-python")) {
      const runtime = "python";
      await this.engine.register({ name: "innocent-python", description: "sums", source: PYTHON_INNOCENT, runtime });
      // All workers have what their interpreters share.
      const tenants = ["a", "b", "c", "d"];
      const call = { name: "innocent-python", arguments: { n: 1 } };
      await Promise.all(tenants.map((tenant) => this.engine.execute(call, { tenant })));
    }
    await this.engine.register({ name: "witness", description: "looks", source: WITNESS });
    this.#world = (await this.engine.execute({ name: "witness", arguments: {} })).output;
    // The spare is at work, and what a first call needs has been made.
    await Promise.all(this.#innocents.map((name, n) => this.#innocent(name, { n }, [])));
    await new Promise((done) => setTimeout(done, 1_000));
    const { hostMb, executorsMb } = measureMemory();
    // One of them stands by, and has no interpreters yet.
    const isMixed = this.#innocents.includes("innocent-python");
    this.#start = { hostMb, executorsMb: isMixed ? [Math.max(...executorsMb)] : executorsMb };
    this.#pulse.take();
    this.#familyPulse.take();
  }

  /** Registers a source as a tool of its own, so that no tool is refused for what another attack did. */
  async put(source: string, { limits, isolation, retries, runtime }: Extras = {}): Promise<string> {
    const name = `tool-${++this.#registered}`;
    await this.engine.register({
      name,
      description: "attacks",
      source,
      limits: { ...LIMITS, ...limits },
      capabilities: { vault: true },
      ...(runtime === undefined ? {} : { runtime }),
      ...(isolation === undefined ? {} : { isolation }),
      ...(retries === undefined ? {} : { retries }),
    });
    return name;
  }

  /** Registers a command of the fixtures, as `put` does. */
  async putCommand(file: string, { limits, isolation }: Extras = {}): Promise<string> {
    const name = `tool-${++this.#registered}`;
    const entry = fileURLToPath(new URL(`../../fixtures/binaries/wasi/${file}.wasm`, import.meta.url));
    await this.engine.register({
      name,
      description: "attacks",
      runtime: "wasi",
      entry,
      limits: { ...LIMITS, ...limits },
      ...(isolation === undefined ? {} : { isolation }),
    });
    return name;
  }

  /** Attacks while innocent calls are in flight, and sees to it that they, and one more afterwards, are answered rightly. */
  async among(name: string, shape: string, act: (harm: string[]) => Promise<Act>): Promise<void> {
    const harm: string[] = [];
    this.#pulse.take();
    const innocents = this.#innocents.map((innocent, n) => this.#innocent(innocent, { n: n + 1 }, harm));
    const startMs = performance.now();
    const { outcome, timed } = await act(harm);
    const ms = Math.round(performance.now() - startMs);
    const later = [...new Set(this.#innocents)].map((each) => this.#innocent(each, { n: 100, ms: 0 }, harm));
    await Promise.all([...innocents, ...later]);
    const seen = await settled(this.engine.execute({ name: "witness", arguments: {} }));
    if (seen?.output !== this.#world) harm.push(`another tool sees another world: ${wordsOf(seen)}`);
    const delay = this.#pulse.take();
    const growth = await settledGrowth(this.#start, { hostMb: HOST_GROWTH_MB, executorsMb: EXECUTORS_GROWTH_MB });
    const run: Run = { name, shape, ms, harm, delay, growth, overdueMs: overdue(outcome, timed), ...describe(outcome) };
    console.log(JSON.stringify(run));
  }

  async #innocent(name: string, args: { readonly n: number; readonly ms?: number }, harm: string[]): Promise<void> {
    const { n } = args;
    const result = await settled(this.engine.execute({ name, arguments: args }));
    const { sum } = (result?.output ?? {}) as { sum?: number };
    if (sum !== (n * (n + 1)) / 2) harm.push(`call ${n} of ${name}: ${wordsOf(result)}`);
  }

  get familyDelay(): Run["delay"] {
    return this.#familyPulse.read();
  }
}

/** How long after its limit a call ended; 0 where it did before. */
function overdue(outcome: Outcome, timed: Act["timed"]): number {
  if (timed === undefined || outcome === undefined || outcome === "registered") return 0;
  const { cpuMs, wallMs } = { ...LIMITS, ...timed.limits };
  const code = outcome instanceof GloveboxError ? outcome.code : outcome.error?.code;
  const limitMs = timed.idles || code === "wall_limit" ? wallMs : cpuMs;
  return code === undefined ? 0 : Math.max(0, Math.round(timed.ms - limitMs));
}

function describe(outcome: Outcome): Pick<Run, "end" | "message" | "output" | "dropped"> {
  const none = { message: "", output: null, dropped: 0 };
  if (outcome === undefined) return { ...none, end: "hung" };
  if (outcome === "registered") return { ...none, end: "registered" };
  if (outcome instanceof GloveboxError) return { ...none, end: outcome.code, message: outcome.message };
  const { error, output, metadata } = outcome;
  const end: End = error?.code ?? "ok";
  return { end, output, message: error?.message.slice(0, 300) ?? "", dropped: metadata.truncated?.logs ?? 0 };
}

/** Anything but the engine's own error is an end that no test allows. */
export function refusalOf(error: unknown): GloveboxError {
  return error instanceof GloveboxError ? error : new GloveboxError("executor_lost", String(error));
}

export function wordsOf(result: ToolResult | undefined): string {
  return result === undefined ? "no answer" : JSON.stringify(result.error ?? result.output).slice(0, 300);
}

/** Value of a promise, or nothing after the longest permitted wait. */
export async function settled<T>(promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, PATIENCE_MS, undefined)));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Calls a tool for a tenant, and gives its output or, where it failed, its code. */
export async function ask(
  stage: Stage,
  name: string,
  tenant: string,
  args: Record<string, unknown> = {},
): Promise<unknown> {
  const result = await settled(stage.engine.execute({ name, arguments: args }, { tenant }));
  return result === undefined ? "no answer" : (result.error?.code ?? result.output);
}
