import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describeMachine, type Report } from "../report.ts";
import { median } from "../statistics.ts";
import { checkOut, OWN } from "./checkout.ts";
import type { Reply, Request } from "./process.ts";
import { judge, type Verdict } from "./verdict.ts";
import { type Workload, WORKLOADS } from "./workloads.ts";

/** What to compare, and how long. */
export interface ComparisonOptions {
  /** The other revision, as git names it. */
  readonly against: string;
  /** Names of workloads. Default: all. */
  readonly scope?: readonly string[];
  readonly rounds?: number;
  readonly smoke?: boolean;
  /** How much slower a workload may be, in percent. Default 3. */
  readonly boundPercent?: number;
  readonly progress?: (text: string) => void;
}

export interface Comparison {
  readonly machine: Report["machine"];
  readonly against: { readonly revision: string; readonly commit: string };
  readonly boundPercent: number;
  readonly smoke: boolean;
  readonly workloads: readonly ComparedWorkload[];
}

export interface ComparedWorkload extends Verdict {
  readonly name: string;
  readonly metric: string;
  readonly unit: string;
  /** Medians of the rounds. */
  readonly own: number;
  readonly other: number;
}

const ROUNDS = 15;
const SAMPLE_MS = 300;
const SMOKE = { rounds: 1, sampleMs: 20 };
const BOUND_PERCENT = 3;
const FLAGS = ["--no-node-snapshot", "--no-warnings"];
const PROGRAM = fileURLToPath(new URL("process.ts", import.meta.url));

/** Measures this revision and another one in turns, each in a process of its own. */
export async function compareRevisions(options: ComparisonOptions): Promise<Comparison> {
  const { against, scope = [], smoke = false, boundPercent = BOUND_PERCENT, progress = () => {} } = options;
  const chosen = chooseWorkloads(scope);
  await using other = await checkOut(against, progress);
  await using sides = new AsyncDisposableStack();
  const [own, theirs] = [sides.use(await Revision.start(OWN)), sides.use(await Revision.start(other.folder))];
  const rounds = options.rounds ?? (smoke ? SMOKE.rounds : ROUNDS);
  const sampleMs = smoke ? SMOKE.sampleMs : SAMPLE_MS;
  const workloads: ComparedWorkload[] = [];
  for (const workload of chosen) {
    progress(`${workload.name}: ${rounds} rounds`);
    const pairs = await inTurns(rounds, [own, theirs], { workload: workload.name, sampleMs });
    workloads.push(compared(workload, pairs, 1 + boundPercent / 100));
  }
  const { commit } = other;
  return { machine: describeMachine(), against: { revision: against, commit }, boundPercent, smoke, workloads };
}

/** The workloads with these names; an empty list selects all. Throws a `RangeError` for an unknown name. */
export function chooseWorkloads(scope: readonly string[]): readonly Workload[] {
  for (const name of scope) {
    if (WORKLOADS.some((workload) => workload.name === name)) continue;
    throw new RangeError(
      `there is no workload "${name}"; the workloads are ${WORKLOADS.map((workload) => workload.name).join(", ")}`,
    );
  }
  return scope.length === 0 ? WORKLOADS : WORKLOADS.filter(({ name }) => scope.includes(name));
}

type Pair = readonly [own: number, other: number];

/** In reversed order every other round. A first, shorter round warms up and is dropped. */
async function inTurns(rounds: number, [own, other]: readonly [Revision, Revision], request: Request): Promise<Pair[]> {
  const warmUp = { ...request, sampleMs: request.sampleMs / 2 };
  await own.measure(warmUp);
  await other.measure(warmUp);
  const pairs: Pair[] = [];
  for (let round = 0; round < rounds; round++) {
    const isReversed = round % 2 === 1;
    const first = await (isReversed ? other : own).measure(request);
    const second = await (isReversed ? own : other).measure(request);
    pairs.push(isReversed ? [second, first] : [first, second]);
  }
  return pairs;
}

function compared({ name, metric }: Workload, pairs: readonly Pair[], bound: number): ComparedWorkload {
  const isRate = metric.better === "higher";
  const costs = isRate ? pairs.map(([own, other]): Pair => [1 / own, 1 / other]) : pairs;
  return {
    name,
    metric: metric.name,
    unit: metric.unit,
    own: median(pairs.map(([own]) => own)),
    other: median(pairs.map(([, other]) => other)),
    ...judge(costs, bound),
  };
}

/** The process that measures a revision. */
class Revision implements AsyncDisposable {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(folder: string): Promise<Revision> {
    const revision = new Revision(fork(PROGRAM, [folder], { execArgv: FLAGS }));
    await revision.#reply();
    return revision;
  }

  async measure(request: Request): Promise<number> {
    this.#child.send(request);
    return await this.#reply();
  }

  async #reply(): Promise<number> {
    const ending = new AbortController();
    try {
      const ended = once(this.#child, "exit", { signal: ending.signal }).then(() => null);
      const message = once(this.#child, "message", { signal: ending.signal }).then(([reply]) => reply as Reply);
      const reply = await Promise.race([message, ended]);
      if (reply === null) throw new Error("the process that measures a revision has ended; see its output above");
      if ("error" in reply) throw new Error(reply.error);
      return reply.value;
    } finally {
      ending.abort();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }
}
