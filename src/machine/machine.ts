import type { Registry } from "prom-client";
import type { ExecutorStats, Recycling, SandboxMode } from "../executor/executor.ts";

export interface MachineLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface MachineOptions {
  readonly url: string;
  readonly fleet: string;
  readonly secret?: string | undefined;
  readonly slots: number;
  readonly workers: number;
  readonly executor: {
    readonly warmIsolates: number;
    readonly rssMb: number;
    readonly spare: boolean;
    readonly recycle: Recycling;
    readonly sandbox: SandboxMode;
  };
  readonly store?: string | undefined;
  readonly registry?: Registry;
  readonly logger?: MachineLogger | undefined;
}

export interface MachineStats {
  readonly id: string;
  readonly isReady: boolean;
  readonly isDraining: boolean;
  readonly isRedisUp: boolean;
  readonly slots: number;
  readonly busySlots: number;
  readonly calls: number;
  readonly executor: ExecutorStats;
}

export interface Machine extends AsyncDisposable {
  stats(): MachineStats;
  metrics(): Promise<string>;
  /** Takes no more jobs; resolves when those it has have ended, or `ms` are over, in which case they are given back. */
  drain(ms: number): Promise<void>;
  close(): Promise<void>;
}

export function startMachine(_options: MachineOptions): Promise<Machine> {
  return Promise.reject(new Error("not built"));
}
