import type { Progress } from "../../base/result.ts";
import type { Capability } from "./capability.ts";
import type { FetchOptions } from "./fetch/connections.ts";
import type { SecretViolation } from "./secrets/placeholders.ts";
import type { Secrets } from "./secrets/secrets.ts";

/** A capability of another package: the broker's thread, or its process, imports its implementation. */
export interface ModuleCapability<Value = unknown> extends Pick<Capability<Value>, "name" | "grants" | "methods"> {
  /** File of a module that exports `open`, an `OpenModule`. */
  readonly module: URL;
}

/** Opens a capability for all calls, on the broker's thread. */
export type OpenModule = (host: CapabilityHost) => OpenedModule;

export interface OpenedModule {
  readonly capability: Capability;
  /** Takes the state that the engine's side has set, for calls that begin from now on. */
  readonly use?: (state: unknown) => void;
}

/** Parts of the broker's thread for a capability of another package. */
export interface CapabilityHost {
  readonly fetch: FetchOptions;
  /** With their values. */
  readonly secrets: Secrets;
  readonly onSecretViolation: (violation: SecretViolation) => void;
  /** Asks the engine's side. Resolves with its answer, and rejects with an error that a tool may see. */
  readonly ask: (question: unknown, signal: AbortSignal) => Promise<string>;
  /** Sends a report to the engine's side. */
  readonly tell: (report: unknown) => void;
}

/** The engine's side of such a capability. Questions, reports and the state are data that can be sent. */
export interface EngineSide {
  /** The tool gets the error of a rejection. `listenerOf`: the listener to the progress of a call, by its number. */
  readonly answer: (
    question: unknown,
    signal: AbortSignal,
    listenerOf: (call: number) => ((progress: Progress) => void) | undefined,
  ) => Promise<string>;
  readonly onReport: (report: unknown) => void;
}

/** The capability as the engine's thread has it: to decide on calls, not to carry them out. */
export function decidedHere({ name, grants, methods }: ModuleCapability): Capability {
  const open = (): never => {
    throw new TypeError(`the capability ${name} is carried out by the broker's thread`);
  };
  return { name, grants, methods, open };
}
