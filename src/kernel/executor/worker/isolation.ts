import type { WorkerHoldings } from "../../base/protocol/holdings.ts";
import { type Prelude, seedOf } from "../../base/protocol/prelude.ts";
import { type SharedTexts, textNamed } from "../../base/protocol/shared-texts.ts";
import type { TurnSlot } from "../../base/protocol/turn-record.ts";
import type { Emit } from "../../guest/host.ts";
import { Isolates } from "./isolates.ts";
import { createPure } from "./pure.ts";
import { Terminator } from "./terminator.ts";
import type { WorkerRuntimes } from "./worker-runtime.ts";

/** Settings of an executor's isolates. */
export interface IsolationSettings {
  readonly prelude: Omit<Prelude, "parts">;
  readonly parts: SharedTexts;
  /** The key from which, with a call's number, the call's random seed is derived. */
  readonly entropyKey: string;
  /** Number of isolates that a worker keeps warm. */
  readonly warmIsolates: number;
}

/** The settings of an executor's workers, passed at the start of each thread. */
export interface WorkerSettings extends IsolationSettings {
  readonly turnRecord: SharedArrayBuffer;
  /** Memory of the isolates, by tenant. */
  readonly holdings: SharedArrayBuffer;
  /** The descriptor of a file that mirrors the turn record. */
  readonly mirrorFd?: number;
  /** Time after the host's last message for which an idle worker does not sleep, in milliseconds. */
  readonly spinMs: number;
}

/** Environment of tool code: a worker's isolates, and the terminator that ends their turns from outside. */
export interface Isolation {
  readonly isolates: Isolates;
  readonly terminator: Pick<Terminator, "hasEnded"> & AsyncDisposable;
}

/** A worker, as its isolates need it. */
export interface IsolationHost {
  readonly settings: IsolationSettings;
  readonly slot: TurnSlot;
  readonly holdings: WorkerHoldings;
  readonly emit: Emit;
  /** The call that draws random numbers, by the name that a realm gives. */
  readonly drawing: (run: string) => string;
}

export type OpenIsolation = (host: IsolationHost) => Isolation;

/** Isolates of V8, with the runtimes of a worker. */
export const isolationWith =
  (runtimes: WorkerRuntimes): OpenIsolation =>
  ({ settings, slot, holdings, emit, drawing }) => {
    const terminator = new Terminator(slot.cells);
    const isolates = new Isolates(
      settings.prelude,
      runtimes,
      settings.warmIsolates,
      emit,
      createPure(
        (run) => seedOf(settings.entropyKey, drawing(run)),
        (name) => textNamed(settings.parts, name),
      ),
      (memoryMb) => slot.reserve(memoryMb),
      (isolate) => terminator.keep(isolate),
      holdings,
    );
    return { isolates, terminator };
  };
