import type { GuestCall } from "../../call.ts";
import type * as Console from "../../web/console.ts";

/** Parts of the realm that the library uses. */
export interface NodeHost {
  /** The call whose turn it is. */
  readonly call: () => GuestCall | null;
  readonly nowMs: () => number;
  /** Ends the call with an uncaught error. */
  readonly report: (error: unknown) => void;
  /** Evaluates a module of the library: a function of the library. */
  readonly evaluate: (name: string) => unknown;
  /** A text that the worker has for the library. */
  readonly text: (name: string) => string;
  /** Freezes everything reachable from a value, if calls share the realm. */
  readonly harden: <T>(made: T) => T;
  /** The error of a denied capability call, without a request to the host. */
  readonly denied: (capability: string, method: string, message: string) => Error;
  /** `context.host.fs` of a call. */
  readonly fs: (call: GuestCall) => object;
  readonly fillRandom: (bytes: Uint8Array) => void;
  /** A hash by the worker: data and result are strings with one character for each byte. */
  readonly digest: (algorithm: string, latin1: string) => string;
  /** Makes `structuredClone` copy objects of a class: the function returns `undefined` for others. */
  readonly cloneable: (copy: (value: object) => object | undefined) => void;
  readonly console: () => typeof Console;
  readonly shown: (value: object) => object | undefined;
}

/** A module of Node as an instance has it. */
export type NodeModule = { [name: string]: unknown };

/** Node's names of one instance, and its changes of them. */
export interface NodeState {
  /** A module: the same object each time. */
  require(name: string): unknown;
  /** Variables of the environment that the call was granted. */
  env(): { readonly [name: string]: string };
  /** Whether the tool does not request the capability `fetch`. */
  readonly lacksFetch: boolean;
  /** State of modules for this instance, by its name. */
  readonly kept: Map<string, unknown>;
}

/** A part of the library: the part of a module that instances share, and each instance's own part. */
export interface LibraryPart {
  /** The exports that all instances share, frozen. */
  readonly shared?: NodeModule | ((...args: never[]) => unknown);
  /** The same of several modules, by their names. */
  readonly modules?: { readonly [name: string]: NodeModule };
  /** The exports for the packages of the library itself, if they differ. */
  readonly packages?: NodeModule;
  /** Prototypes that only objects of its classes lead to: frozen as well. */
  readonly hidden?: readonly object[];
  /** Objects of classes that a package keeps for itself. */
  readonly samples?: () => readonly unknown[];
  /** Makes the exports of one instance. Default: a copy of those that are shared. */
  readonly open?: (state: NodeState, name: string) => unknown;
}

/** The library of a realm, for its modules. */
export interface Library {
  readonly host: NodeHost;
  /** A part by the name of its file, evaluated once. */
  load(part: string): LibraryPart;
  /** The shared exports of a module. */
  module(name: string): unknown;
  /** The state of the instance whose turn it is. */
  state(): NodeState;
  /** The error of a function that an isolate cannot have. */
  refusal(module: string, member: string): Error;
}

/** The parameter of each part's script. */
declare const __library: Library;

export const library: Library = __library;

/** Random bytes. */
export function random(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  library.host.fillRandom(bytes);
  return bytes;
}

/** Gives a module classes of the web, which are made when they are read. */
export function shareGlobals(module: NodeModule, names: readonly string[]): void {
  for (const name of names) {
    Object.defineProperty(module, name, { get: () => Reflect.get(globalThis, name) as unknown });
  }
}

/** `process.emitWarning` of the instance. */
export function emitWarning(...args: readonly unknown[]): void {
  (library.state().require("process") as { emitWarning(...args: readonly unknown[]): void }).emitWarning(...args);
}

/** A value that an instance has for itself, made when it first uses it. */
export function kept<T>(name: string, make: () => T, state: NodeState = library.state()): T {
  const known = state.kept.get(name);
  if (known !== undefined) return known as T;
  const made = make();
  state.kept.set(name, made);
  return made;
}

const { apply } = Reflect;
const { then } = Promise.prototype;
const SETTLED = Promise.resolve();

/** Runs a callback as a microtask of the call; an error from it ends the call. */
export function soon(callback: (...args: never[]) => unknown, ...args: readonly unknown[]): void {
  const run = (): void => {
    try {
      apply(callback, undefined, args);
    } catch (error) {
      library.host.report(error);
    }
  };
  void apply(then, SETTLED, [run]);
}
