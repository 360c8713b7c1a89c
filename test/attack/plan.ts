/** Messages between a family of hazards and the child process that runs it: plain data, because it crosses a pipe. */
import type { ErrorCode, Isolation, Limits } from "../../src/glovebox/index.ts";

/** How a hazard ends: with a code, as a success, or, where the engine broke its promise, not at all. */
export type End = ErrorCode | "ok" | "registered" | "hung";

/** Default limits of a hazard's tool. */
export const LIMITS = { cpuMs: 300, wallMs: 10_000, memoryMb: 64 };
/** Wall-clock time of an attack that is to meet another limit: it may wait for a processor. */
export const PATIENT_MS = 60_000;
/** Calls that are in flight beside each attack. */
export const INNOCENTS = 10;
/** What the host may hold more than at the start once an attack is over, in MiB. */
export const HOST_GROWTH_MB = 100;
/**
 * The same for each of its executors: a process makes room from 256 MiB on that are not its isolates'. A family has
 * dozens of attacks, each of which could leave 64 MiB, so a leak is many times this.
 */
export const EXECUTORS_GROWTH_MB = 384;

export const SHAPES = ["at once", "after an await"] as const;
export type Shape = (typeof SHAPES)[number];

/** One way to attack: the body of a tool's function, which may name `input`, and in JavaScript `host` and `context`. */
export interface Hazard {
  /** A sentence about what the tool does. */
  readonly name: string;
  readonly body: string;
  /** What it is written in, where that is not JavaScript. */
  readonly runtime?: "python";
  /** Module code before the function. */
  readonly module?: string;
  readonly arguments?: Record<string, unknown>;
  readonly limits?: Partial<Limits>;
  readonly isolation?: Isolation;
  readonly retries?: number;
  /** Whether it lets time pass before it reaches a limit of its processor time. */
  readonly idles?: boolean;
  /** Log lines that a success has to have lost at the least. */
  readonly dropped?: number;
  /** All ends that name the cause: some hazards meet one limit or another first. */
  readonly ends: readonly End[];
  /** Expected output of a success. */
  readonly output?: unknown;
  readonly next?: NextCall;
}

export interface ShapedHazard extends Hazard {
  readonly shapes: readonly Shape[];
}

/** A later call of the same tool, and what it has to answer; `"fresh"` says that it has met another worker. */
export interface NextCall {
  readonly arguments: Record<string, unknown>;
  readonly output: unknown;
}

/** A module that attacks while it is evaluated, so also at its registration. */
export interface HostileModule {
  readonly name: string;
  readonly source: string;
  readonly isolation?: Isolation;
  /** How `register` ends. */
  readonly ends: readonly End[];
  /** How a call ends where the module was registered. */
  readonly callEnds?: readonly End[];
}

/** A quick tool `({ n }) => n`, one of whose calls is hostile by its arguments while all travel together. */
export interface HostileBatch {
  readonly name: string;
  /** Runs in the hostile call before it would answer; may `return`. */
  readonly body: string;
  readonly ends: readonly End[];
}

/** Calls that are in flight for long, while hostile ones end isolates or processes under them again and again. */
export interface Siege {
  readonly name: string;
  /** Code that a hostile call runs shortly after its start. */
  readonly body: string;
  /** Whether each hostile call is another tool's, or all are of the tool whose innocent calls are in flight. */
  readonly from: "other tools" | "the same tool";
  readonly ends: readonly End[];
}

/** A family as its test declares it. */
export interface Family extends Omit<Plan, "hazards"> {
  readonly hazards?: readonly Hazard[];
  /** In which shapes they attack, where that is not in all. */
  readonly shapes?: readonly Shape[];
  /** Why none of it can be carried out on this machine. */
  readonly unless?: string;
}

/** All attacks of a family, for its child process. */
export interface Plan {
  readonly hazards: readonly ShapedHazard[];
  readonly modules?: readonly HostileModule[];
  readonly batches?: readonly HostileBatch[];
  readonly sieges?: readonly Siege[];
  /** Attacks that take more than one call: the file in `scenes` in which they are, and their names. */
  readonly scenes?: { readonly file: string; readonly names: readonly string[] };
  /** Whether innocent calls of a Python tool are in flight as well. */
  readonly python?: boolean;
}

/** How late the host's event loop was by what it did itself, in milliseconds. */
export interface Delay {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** What came of one attack. */
export interface Run {
  readonly name: string;
  readonly shape: string;
  readonly end: End;
  readonly message: string;
  readonly output: unknown;
  readonly dropped: number;
  readonly ms: number;
  /** How long after its limit the call ended, in milliseconds. */
  readonly overdueMs: number;
  readonly delay: Delay;
  /** Memory that had not come back. */
  readonly growth: { readonly hostMb: number; readonly executorsMb: number };
  /** What was wrong with anybody else: empty where all innocents got their answers. */
  readonly harm: readonly string[];
}

/** The last thing that a child says. */
export interface Closing {
  readonly hostPeakMb: number;
  readonly delay: Delay;
  readonly childrenLeft: readonly string[];
}
