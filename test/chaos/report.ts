import type { LoadReport } from "../load/load.ts";
import type { LoopDelay } from "./loop-delay.ts";

/** What came of a run: data, because it crosses a pipe. */
export interface ChaosReport {
  readonly seed: number;
  readonly seconds: number;
  readonly innocents: LoadReport;
  /** Of each hostile tool, how its calls ended. */
  readonly hostiles: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly kills: Readonly<Record<string, number>>;
  /** Executors that were lost while they were at work, by the engine's reason. */
  readonly restarts: Readonly<Record<string, number>>;
  readonly effects: { readonly happened: number; readonly expected: number };
  readonly host: {
    /** Of the thread that has the engine, and the generator of the load. */
    readonly loopDelayMs: LoopDelay;
    /** Of a thread of the same process that does nothing: the machine's own delay. */
    readonly bystanderDelayMs: LoopDelay;
    /** The part of the time for which the load's own code had the host's thread. */
    readonly generatorShare: number;
    readonly peakRssMb: number;
  };
  readonly childrenLeft: readonly string[];
}
