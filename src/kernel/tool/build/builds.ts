import { availableParallelism } from "node:os";
import PQueue from "p-queue";
import { isPressed, relief } from "../../base/os/pressure.ts";
import { BuildProcess, type BuildView, type Outcome } from "./build-process.ts";
import { isOfProject, type Job, needsFiles } from "./job.ts";
import { writablePrefix } from "./limits.ts";
import { buildSandbox, showModule, shownModules } from "./sandbox.ts";

const AT_ONCE = 4;
/** More of the operator's jobs at once would start processes that share the same processors. */
const OWN_AT_ONCE = Math.min(AT_ONCE, Math.max(2, availableParallelism()));
const JOBS_MAX = 50;
const IDLE_MS = 30_000;
/** Maximum wait for a machine that is short of processor time. */
const RELIEF_MS = 10_000;

export interface BuildOptions {
  /**
   * The owner of the job: each registrant has one job in progress at a time. `null`: the operator, who may use all
   * places.
   */
  readonly registrant: string | null;
  /** Whether the operator's job has an untrusted text, which is read without the host's files. Default: false. */
  readonly isForeign?: boolean;
  readonly deadlineMs: number;
}

/**
 * The build processes of this process: each has one job at a time, so that a job that ends its process ends no other.
 * A process ends after 30 s without a job, after 50 jobs, and after a job that it did not survive whole.
 */
export class Builds {
  readonly #idle = new Map<BuildProcess, NodeJS.Timeout>();
  readonly #working = new Set<BuildProcess>();
  /** The last job of each registrant with one. */
  readonly #lanes = new Map<string, Promise<Outcome>>();
  readonly #places = new PQueue({ concurrency: AT_ONCE });
  readonly #ownPlaces = new PQueue({ concurrency: OWN_AT_ONCE });
  readonly #idleMs: number;
  #stops = 0;

  constructor(idleMs: number = IDLE_MS) {
    this.#idleMs = idleMs;
  }

  run(job: Job, { registrant, isForeign = false, deadlineMs }: BuildOptions): Promise<Outcome> {
    const stops = this.#stops;
    if (job.head.kind === "module") showModule(job.head.module);
    // Registrants send text; the operator's own tools are as trusted as the operator's other files.
    const isTrusted = registrant === null && !isForeign;
    const view: BuildView = isTrusted || needsFiles(job.head) ? "files" : "texts";
    const run = async (): Promise<Outcome> => {
      const outcome = await this.#runOnce(job, view, deadlineMs);
      const needsMore = outcome.kind === "crashed" && outcome.needed === "memory" && isOfProject(job.head);
      return needsMore ? this.#runOnce(job, "project", deadlineMs) : outcome;
    };
    const work = (): Promise<Outcome> => this.#places.add(() => this.#runUnlessStopped(run, stops));
    if (registrant === null) return this.#ownPlaces.add(work);
    // The operator's tools are not held up: a service has to start, also on a busy machine.
    const held = (): Promise<Outcome> => (isPressed("cpu") ? relief("cpu", RELIEF_MS).then(work) : work());
    const before = this.#lanes.get(registrant);
    const result = before === undefined ? held() : before.then(held);
    this.#lanes.set(registrant, result);
    void result.then(() => {
      if (this.#lanes.get(registrant) === result) this.#lanes.delete(registrant);
    });
    return result;
  }

  /** Starts a process for the first job, which then need not wait for it. */
  warm(): void {
    if (this.#idle.size === 0 && this.#working.size === 0) this.#keep(new BuildProcess("files"));
  }

  /** Ends all processes, and their jobs. The next job starts one again. */
  stop(): void {
    this.#stops++;
    for (const timer of this.#idle.values()) clearTimeout(timer);
    for (const one of [...this.#idle.keys(), ...this.#working]) one.kill();
    this.#idle.clear();
  }

  /** `stops`: those before the job was given; a later one ends it, also while it waits. */
  async #runUnlessStopped(run: () => Promise<Outcome>, stops: number): Promise<Outcome> {
    if (stops !== this.#stops) return { kind: "lost", reason: "the bundler was stopped" };
    const outcome = await run();
    // No job ends the process itself: it was ended from outside.
    return outcome.kind === "lost" && stops === this.#stops ? run() : outcome;
  }

  async #runOnce(job: Job, view: BuildView, deadlineMs: number): Promise<Outcome> {
    const one = this.#take(view);
    this.#working.add(one);
    const outcome = await one.run(job, deadlineMs).finally(() => this.#working.delete(one));
    const isWhole = outcome.kind === "done" || outcome.kind === "refused";
    if (!isWhole || one.hasEnded || one.jobs >= JOBS_MAX) one.kill();
    else this.#keep(one);
    return outcome;
  }

  #take(view: BuildView): BuildProcess {
    const writable = writablePrefix();
    for (const [one, timer] of this.#idle) {
      if (one.view !== view) continue;
      clearTimeout(timer);
      this.#idle.delete(one);
      // The folder for temporary files is another now, the sandbox works again, or shows a module that it did not.
      const isStale =
        one.writable !== writable ||
        (view === "texts" && (one.isInside ? one.modules < shownModules() : isSandboxed()));
      if (isStale) one.kill();
      if (!one.hasEnded) return one;
    }
    return new BuildProcess(view);
  }

  #keep(one: BuildProcess): void {
    const timer = setTimeout(() => {
      this.#idle.delete(one);
      one.kill();
    }, this.#idleMs);
    this.#idle.set(one, timer.unref());
  }
}

const isSandboxed = (): boolean => buildSandbox().kind === "bubblewrap";

/** The build processes of all engines here. */
export const builds = new Builds();
