import { createAssembly } from "./assembly.ts";

/**
 * Replaces a shell's globals for Pyodide. Pyodide supports browsers, Node and V8's own shell. This imitates the shell,
 * which passes every feature test of Pyodide. These globals are not on the realm's own global.
 */
export interface Facade {
  /** The global object of Pyodide's code. */
  readonly global: object;
  /** The values of `FACADE_NAMES`. */
  readonly names: readonly unknown[];
  /** The only files that exist, by name. Removed once the interpreter has started. */
  readonly files: Map<string, ArrayBuffer | Uint8Array>;
  /** Sets the compiled interpreter, which is returned for the placeholder instead of compiling it. */
  use(module: WebAssembly.Module): void;
  /**
   * From now on, only a tool's libraries can be compiled or created as WebAssembly, and tables grow only up to a limit.
   */
  seal(): void;
  /** Compiles a library of the tool, which the interpreter loads from a path when it is imported. */
  admit(path: string, bytes: ArrayBuffer): void;
}

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Functions of the environment that Pyodide uses; they act for the call of the current turn. */
export interface Surroundings {
  setTimeout(callback: () => void, delayMs: number): number;
  clearTimeout(timer: number): void;
  /** Fills `bytes` with randomness. */
  random(bytes: Uint8Array): void;
}

/** Created before the prelude removes the globals that it holds. */
export function createFacade(realm: typeof globalThis, surroundings: Surroundings): Facade {
  const files = new Map<string, ArrayBuffer | Uint8Array>();
  const assembly = createAssembly();
  const soon = (callback: () => void): void => void Promise.resolve().then(() => callback());
  const silent = (): void => undefined;
  const refuse = (): never => {
    throw new TypeError("there are no scripts");
  };
  const own: Record<FacadeName, unknown> = {
    WebAssembly: assembly.face,
    SharedArrayBuffer: Reflect.get(realm, "SharedArrayBuffer"),
    Atomics: Reflect.get(realm, "Atomics"),
    WeakRef: realm.WeakRef,
    FinalizationRegistry: realm.FinalizationRegistry,
    location: "file:///",
    load: refuse,
    read: refuse,
    readbuffer: (name: string) => {
      const file = files.get(name.slice(name.lastIndexOf("/") + 1));
      if (file === undefined) throw new TypeError(`there is no file ${name}`);
      return file;
    },
    __library: assembly.library,
    os: { system: (_command: string, [, script = ""]: string[]) => base64(randomBytes(surroundings, script)) },
    // Pyodide's event loop. It continues in the same turn, because a separate turn would cost a millisecond.
    setTimeout: (callback: () => void, delayMs = 0) =>
      delayMs >= 1 ? surroundings.setTimeout(callback, delayMs) : (soon(callback), 0),
    clearTimeout: (timer: number) => surroundings.clearTimeout(timer),
    setImmediate: soon,
    queueMicrotask: soon,
    // Pyodide's own messages go to no log.
    console: { log: silent, warn: silent, error: silent, info: silent, debug: silent, trace: silent, assert: silent },
  };
  const global = Object.assign(Object.create(realm) as object, own);
  const names = FACADE_NAMES.map((name) => own[name]);
  const seal = (): void => {
    files.clear();
    assembly.seal();
  };
  return { global, names, files, use: assembly.use, seal, admit: assembly.admit };
}

/** Free names in Pyodide's code that resolve to the facade. */
export const FACADE_NAMES = [
  "WebAssembly",
  "SharedArrayBuffer",
  "Atomics",
  "WeakRef",
  "FinalizationRegistry",
  "location",
  "load",
  "read",
  "readbuffer",
  "__library",
  "os",
  "setTimeout",
  "clearTimeout",
  "setImmediate",
  "queueMicrotask",
  "console",
] as const;
type FacadeName = (typeof FACADE_NAMES)[number];

/** The one command that Pyodide has its shell run: `head -c16 /dev/urandom | base64`. */
function randomBytes(surroundings: Surroundings, script: string): Uint8Array {
  const bytes = new Uint8Array(Math.min(Number(/^head -c(\d+) /.exec(script)?.[1] ?? 0), RANDOM_MAX));
  surroundings.random(bytes);
  return bytes;
}

const RANDOM_MAX = 65_536;

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const [one = 0, two, three] = bytes.subarray(at, at + 3);
    const bits = (one << 16) | ((two ?? 0) << 8) | (three ?? 0);
    const last = three === undefined ? "=" : BASE64.charAt(bits & 63);
    const third = two === undefined ? "=" : BASE64.charAt((bits >> 6) & 63);
    text += BASE64.charAt(bits >> 18) + BASE64.charAt((bits >> 12) & 63) + third + last;
  }
  return text;
}
