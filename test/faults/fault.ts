import type { Callers } from "./callers.ts";
import type { Scene, SceneSettings } from "./scene.ts";

/** Where a fault is: what somebody who is paged looks at. */
export const PLACES = ["start", "server", "store", "redis", "machine"] as const;
export type Place = (typeof PLACES)[number];

/** Rights and programs that a fault takes to be brought about. */
export type Need = "root" | "redis" | "bubblewrap" | "iproute2" | "prometheus";

interface Named {
  /** In lower case, with hyphens: `npm run faults -- NAME`. */
  readonly name: string;
  /** The harm that is done, as a sentence of the page. */
  readonly what: string;
  readonly needs?: readonly Need[];
}

/** A fault at which a start ends, or from which it keeps what it can. */
export interface StartFault extends Named {
  readonly place: "start";
  readonly prepare: (folder: StartFolder) => Promise<Command>;
  /** The exit code, and what the last lines say. */
  readonly sees: { readonly exit: number; readonly says: RegExp };
}

/** Where a start is prepared; what it owns goes away after it. */
export interface StartFolder {
  readonly path: string;
  readonly owned: AsyncDisposableStack;
  readonly write: (name: string, text: string) => void;
}

export interface Command {
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Runs before the program: `setpriv --reuid 65534` for example. */
  readonly within?: readonly string[];
}

/** A fault under which a service goes on, or from which it comes back. */
export interface RunningFault extends Named {
  readonly place: Exclude<Place, "start">;
  readonly settings?: SceneSettings;
  /** Brings it about, and answers how it is healed; `null` where it heals by itself. */
  readonly bring: (scene: Scene, callers: Callers) => Promise<Heal | null>;
  readonly sees: Sees;
}

/** Ends a fault. */
export type Heal = () => Promise<void>;

/** Signs that have to be seen while there is a fault. Others are not waited for. */
export interface Sees {
  /** An answer that callers get besides `ok`. */
  readonly code?: string;
  /** A line of the log: of the server, or of a machine. */
  readonly log?: RegExp;
  /** A line of a scrape. */
  readonly metric?: RegExp;
  /** What `/readyz` answers at its worst: its status, and words of its body. */
  readonly ready?: { readonly status: number; readonly says?: RegExp };
  /** How long the fault lasts at the least. Default: until all of the above is seen. */
  readonly lastsMs?: number;
}

export type Fault = StartFault | RunningFault;

/** Outcome of a fault. */
export interface Outcome {
  readonly name: string;
  readonly place: Place;
  readonly what: string;
  /** Answers by code, as callers got them while it lasted; the exit code of a start. */
  readonly answers: string;
  readonly log: string;
  readonly metric: string;
  /** What `/readyz` answered; `null` of a start. */
  readonly ready: { readonly before: string; readonly during: string; readonly after: string } | null;
  readonly recoveryMs: number | null;
  readonly lost: number;
  readonly twice: number;
  /** What was expected and not seen. */
  readonly missing: readonly string[];
}
