/** WebAssembly for Pyodide's code, with the features that work in an isolate, and as long as it may be used. */
export interface Assembly {
  /** Stand-in for the global `WebAssembly`. */
  readonly face: object;
  /** Sets the compiled interpreter, which is returned for the placeholder instead of compiling it. */
  use(module: WebAssembly.Module): void;
  /** Compiles a library of the tool. */
  admit(path: string, bytes: ArrayBuffer): void;
  /** The library with a path. Throws if the tool has none. */
  library(path: string): WebAssembly.Module;
  /**
   * From now on, only a tool's libraries can be compiled or created as WebAssembly, and tables grow only up to a limit.
   */
  seal(): void;
}

/** Length of the placeholder for the interpreter's own module, which is already compiled. */
export const PLACEHOLDER_BYTES = 4;

/** Maximum growth of tables, in entries: JavaScript functions that Python may hold. Outside of V8's accounting. */
const TABLE_GROWTH_MAX = 10_000;
/** Growth for the functions of a tool's libraries beyond that; the interpreter's own module limits its table as well. */
const LIBRARY_GROWTH_MAX = 100_000;
/** Maximum number of loads of a library: it is loaded again after a failure. */
const LOADS_MAX = 8;
/** Maximum number of JavaScript functions whose addresses libraries take. */
const TRAMPOLINES_MAX = 1_000;

/** The module that Emscripten makes to put a JavaScript function into a table: a type between these bytes. */
const TRAMPOLINE_START = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01];
const TRAMPOLINE_END = [0x02, 0x07, 0x01, 0x01, 0x65, 0x01, 0x66, 0x00, 0x00, 0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00];

interface Library {
  readonly path: string;
  readonly module: WebAssembly.Module;
  left: number;
}

// Captured before a tool can change them: they receive objects that a tool must not get.
const { apply, construct } = Reflect;
const Bytes = Uint8Array;

/** Created before the prelude removes `WebAssembly`. */
export function createAssembly(): Assembly {
  const { Memory, Module, Instance, Table } = WebAssembly;
  const own = ownOf(WebAssembly);
  // A list that is read by its numbers: a tool may have changed every method.
  const libraries: Library[] = [];
  const growth = { left: TABLE_GROWTH_MAX };
  let isSealed = false;
  let known: WebAssembly.Module | null = null;
  let trampoline: WebAssembly.Module | null = null;
  let trampolines = 0;
  const requireOpen = (): void => {
    if (isSealed) throw new TypeError("WebAssembly is not available");
  };
  const compile = (bytes: ArrayBufferView | ArrayBufferLike): WebAssembly.Module => {
    requireOpen();
    return bytes.byteLength === PLACEHOLDER_BYTES && known !== null ? known : new Module(bytes);
  };
  const compileTrampoline = (bytes: unknown): object => {
    if (libraries.length === 0 || ++trampolines > TRAMPOLINES_MAX) throw new TypeError("WebAssembly is not available");
    // A copy, because the tool may change its bytes between the check and their use.
    const copy = new Bytes(bytes as ArrayBuffer);
    if (!isTrampoline(copy)) throw new TypeError("WebAssembly is not available");
    return (trampoline = new Module(copy));
  };
  const load = (module: unknown, imports: unknown): WebAssembly.Instance => {
    if (trampoline !== null && module === trampoline) {
      const made = new Instance(trampoline, imports as WebAssembly.Imports);
      trampoline = null;
      return made;
    }
    const library = find(libraries, (one) => one.module === module);
    if (library === null || library.left === 0) throw new TypeError("WebAssembly is not available");
    library.left--;
    return new Instance(library.module, imports as WebAssembly.Imports);
  };
  const face = Object.assign(Object.create(null) as object, own, {
    Memory: made(Memory, requireOpen),
    Table: made(Table, requireOpen),
    Module: openOr(Module, () => isSealed, compileTrampoline),
    Instance: openOr(Instance, () => isSealed, load),
    compile: async (bytes: ArrayBufferView) => compile(bytes),
    instantiate: async (code: ArrayBufferView | WebAssembly.Module, imports: WebAssembly.Imports) => {
      requireOpen();
      if (code instanceof Module) return new Instance(code, imports);
      const compiled = compile(code);
      return { module: compiled, instance: new Instance(compiled, imports) };
    },
    instantiateStreaming: undefined,
    compileStreaming: undefined,
  });
  return {
    face,
    use: (module) => {
      known = module;
    },
    admit: (path, bytes) => {
      if (libraries.length === 0) growth.left += LIBRARY_GROWTH_MAX;
      libraries.push({ path, module: new Module(bytes), left: LOADS_MAX });
    },
    library: (path) => {
      const library = find(libraries, (one) => one.path === path);
      if (library === null) throw new TypeError("only libraries of the tool's wheels can be loaded");
      return library.module;
    },
    seal: () => {
      isSealed = true;
      for (const value of Object.values(own)) {
        const prototype: unknown = typeof value === "function" ? value.prototype : undefined;
        if (typeof prototype === "object" && prototype !== null) Reflect.deleteProperty(prototype, "constructor");
      }
      limitTables(Table, growth);
      for (const Class of [Memory, Table, Module, Instance]) Object.freeze(Class.prototype);
    },
  };
}

/** A class that can be used only while `requireOpen` does not throw. */
function made<Made extends object>(
  Class: new (...args: never[]) => Made,
  requireOpen: () => void,
): new (...args: never[]) => Made {
  // Without a receiver, so that a `this` from a tool is never used.
  return new Proxy(Class, {
    construct: (target, args, newTarget) => {
      requireOpen();
      return construct(target, args, newTarget) as Made;
    },
  });
}

/** A class that makes its objects in another way once all is sealed. */
function openOr<Made extends object>(
  Class: new (...args: never[]) => Made,
  isSealed: () => boolean,
  otherwise: (one: unknown, another: unknown) => object,
): new (...args: never[]) => Made {
  return new Proxy(Class, {
    construct: (target, args, newTarget) =>
      isSealed() ? otherwise(args[0], args[1]) : (construct(target, args, newTarget) as Made),
  });
}

function isTrampoline(bytes: Uint8Array): boolean {
  const length = bytes.length - TRAMPOLINE_START.length - TRAMPOLINE_END.length - 2;
  if (length < 0 || length >= 1 << 14) return false;
  for (let at = 0; at < TRAMPOLINE_START.length; at++) if (bytes[at] !== TRAMPOLINE_START[at]) return false;
  const [low, high] = [(length % 128) | 0x80, length >> 7];
  if (bytes[TRAMPOLINE_START.length] !== low || bytes[TRAMPOLINE_START.length + 1] !== high) return false;
  const end = bytes.length - TRAMPOLINE_END.length;
  for (let at = 0; at < TRAMPOLINE_END.length; at++) if (bytes[end + at] !== TRAMPOLINE_END[at]) return false;
  return true;
}

function find(libraries: readonly Library[], isIt: (one: Library) => boolean): Library | null {
  for (let at = 0; at < libraries.length; at++) {
    const library = libraries[at];
    if (library !== undefined && isIt(library)) return library;
  }
  return null;
}

function ownOf(holder: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(Object.getOwnPropertyDescriptors(holder)).map(([name, { value }]) => [name, value as unknown]),
  );
}

function limitTables(Table: typeof WebAssembly.Table, growth: { left: number }): void {
  const grow: unknown = Reflect.get(Table.prototype, "grow");
  const limited = function (this: unknown, entries: unknown, ...rest: unknown[]): unknown {
    const count = Number(entries);
    if (!(count >= 0 && count <= growth.left)) throw new RangeError("the table cannot grow any more");
    growth.left -= count;
    return apply(grow as () => unknown, this, [count, ...rest]);
  };
  Object.defineProperty(Table.prototype, "grow", { value: limited });
}
