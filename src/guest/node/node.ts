import { adviceOn } from "./inner/advice.ts";
import type { Library, LibraryPart, NodeHost, NodeModule, NodeState } from "./inner/library.ts";

/**
 * Node's modules and globals inside a realm. What instances share of a module is evaluated once for the realm, when the
 * first instance uses it, and frozen with it; what code may change belongs to its instance.
 */

/** Modules that are a member of another one. */
const MEMBERS: ReadonlyMap<string, readonly [module: string, member: string]> = new Map([
  ["assert/strict", ["assert", "strict"]],
  ["dns/promises", ["dns", "promises"]],
  ["fs/promises", ["fs", "promises"]],
  ["inspector/promises", ["inspector", "promises"]],
  ["path/posix", ["path", "posix"]],
  ["path/win32", ["path", "win32"]],
  ["readline/promises", ["readline", "promises"]],
  ["stream/promises", ["stream", "promises"]],
  ["timers/promises", ["timers", "promises"]],
  ["util/types", ["util", "types"]],
]);
/** Modules that are another one. */
const SAME: ReadonlyMap<string, string> = new Map([["sys", "util"]]);
/** Parts by module, where several modules are in one. */
const PARTS: ReadonlyMap<string, string> = new Map([
  ["constants", "tables"],
  ["http2", "tables"],
  ["https", "http"],
  ["punycode", "texts"],
  ["querystring", "texts"],
  ["string_decoder", "texts"],
  ["tls", "tables"],
  ["tty", "probes"],
  ["util", "node-util"],
  ["v8", "probes"],
  ["vm", "probes"],
  ["worker_threads", "probes"],
  ["stream/web", "streams"],
  ["stream/consumers", "streams"],
]);

const { defineProperty, freeze } = Object;

/** Node's names, as the factory of a tool gets them. */
export class NodeInstance implements NodeState {
  readonly #realm: NodeRealm;
  // Made on first use: most instances use one module.
  #kept: Map<string, unknown> | null = null;
  #modules: Map<string, unknown> | null = null;
  /** Globals that the instance's code has replaced. */
  #replaced: Map<string, unknown> | null = null;

  constructor(realm: NodeRealm) {
    this.#realm = realm;
  }

  get kept(): Map<string, unknown> {
    return (this.#kept ??= new Map());
  }

  env(): { readonly [name: string]: string } {
    return {};
  }

  require(name: string): unknown {
    const modules = (this.#modules ??= new Map());
    const known = modules.get(name);
    if (known !== undefined) return known;
    const made = this.#open(name);
    modules.set(name, made);
    return made;
  }

  /** A member of a module; one that an isolate cannot have throws when it is used. */
  member(name: string, member: string): unknown {
    // Without the instance's module, which costs more to make than one member, as long as nothing has asked for it.
    if (this.#modules?.has(name) !== true) {
      const found = this.#realm.sharedMember(name, member);
      if (found !== undefined) return found;
    }
    const module = this.require(name) as NodeModule;
    return member in module ? module[member] : this.#realm.refused(name, member);
  }

  /** A global that an isolate cannot have, for code that takes it for granted. */
  absent(name: string): unknown {
    return this.#realm.absent(name);
  }

  #open(name: string): unknown {
    const same = SAME.get(name);
    if (same !== undefined) return this.require(same);
    const inside = MEMBERS.get(name);
    if (inside !== undefined) {
      const found = (this.require(inside[0]) as NodeModule)[inside[1]];
      if (found !== undefined) return found;
    }
    const part = this.#realm.part(name);
    const opened = part?.open?.(this, name);
    const shared = opened ?? sharedOf(part, name) ?? {};
    if (typeof shared === "function") return shared;
    // A copy: its code may put something else in the place of a member, for itself.
    const module = (opened ?? { ...shared }) as NodeModule;
    if (opened !== undefined) this.#realm.hardenFunctions(name, module);
    for (const [member, refuse] of this.#realm.missing(name, module)) module[member] = refuse;
    return module;
  }

  /** A global as the instance's code has it. */
  global(name: string): unknown {
    const replaced = this.#replaced;
    if (replaced !== null && replaced.has(name)) return replaced.get(name);
    const part = GLOBALS.get(name);
    if (part === undefined) return this.require(name);
    return part === "timers" ? this.member(part, name) : (this.#realm.load(part).shared as NodeModule)[name];
  }

  replace(name: string, value: unknown): void {
    (this.#replaced ??= new Map()).set(name, value);
  }
}

/** Parts by the globals that are in them; `process` is a module. */
const GLOBALS: ReadonlyMap<string, string | undefined> = new Map([
  ["Buffer", "buffer"],
  ["process", undefined],
  ["setTimeout", "timers"],
  ["setInterval", "timers"],
  ["setImmediate", "timers"],
  ["clearTimeout", "timers"],
  ["clearInterval", "timers"],
  ["clearImmediate", "timers"],
  ["CryptoKey", "subtle"],
  ["WebSocket", "sockets"],
  ["EventSource", "sockets"],
  ["MessageEvent", "ports"],
  ["MessageChannel", "ports"],
  ["MessagePort", "ports"],
]);
for (const name of GLOBALS.keys()) {
  defineProperty(NodeInstance.prototype, name, {
    get(this: NodeInstance) {
      return this.global(name);
    },
    set(this: NodeInstance, value: unknown) {
      this.replace(name, value);
    },
    enumerable: false,
    configurable: true,
  });
}

/** What instances share of a module's exports. */
function sharedOf(part: LibraryPart | null, module: string): LibraryPart["shared"] | undefined {
  return part?.modules?.[module] ?? part?.shared;
}

/** Nothing is ever collected, as far as a tool can see. */
class FinalizationRegistry {
  register(): void {}

  unregister(): boolean {
    return false;
  }
}

class WeakRef {
  readonly #target: unknown;

  constructor(target: unknown) {
    this.#target = target;
  }

  deref(): unknown {
    return this.#target;
  }
}

const STAND_INS: ReadonlyMap<string, { prototype: object }> = new Map<string, { prototype: object }>([
  ["FinalizationRegistry", FinalizationRegistry],
  ["WeakRef", WeakRef],
]);

const WEB_ASSEMBLY =
  "Module Instance Memory Table Global compile compileStreaming instantiate instantiateStreaming".split(" ");

/** The getter of a class without objects. */
function notOne(): never {
  throw new TypeError("this is no object of the class");
}

/** The library of one realm. */
class NodeRealm implements Library {
  readonly host: NodeHost;
  readonly #parts = new Map<string, LibraryPart | null>();
  readonly #refusals = new Map<string, NodeModule>();
  /** What each module lacks, by its name. */
  readonly #missing = new Map<string, readonly (readonly [member: string, refuse: unknown])[]>();
  readonly #opened = new Set<string>();
  readonly #absent = new Map<string, unknown>();
  readonly #library: Library;

  constructor(host: NodeHost) {
    this.host = host;
    this.#library = freeze({
      host,
      load: (part: string) => this.load(part),
      module: (name: string) => this.module(name),
      state: () => this.state(),
      refusal: (module: string, member: string) => this.refusal(module, member),
    });
  }

  /** Code that runs without a call has a state of its own, which nobody sees again. */
  module(name: string): unknown {
    const part = this.part(name);
    return part?.packages ?? sharedOf(part, name);
  }

  state(): NodeState {
    return (this.host.call()?.node as NodeInstance | null | undefined) ?? new NodeInstance(this);
  }

  load(name: string): LibraryPart {
    const part = this.#find(name);
    if (part === null) throw new TypeError(`the library has no part "${name}"`);
    return part;
  }

  /** The part of a module, if it has one. */
  part(module: string): LibraryPart | null {
    return this.#find(PARTS.get(module) ?? module.replaceAll("/", "-"));
  }

  #find(name: string): LibraryPart | null {
    const known = this.#parts.get(name);
    if (known !== undefined) return known;
    const text = this.host.text(`node/${name}`);
    const part = text === "" ? null : this.#evaluate(name);
    this.#parts.set(name, part);
    return part;
  }

  #evaluate(name: string): LibraryPart {
    const make = this.host.evaluate(`node/${name}`) as (library: Library) => LibraryPart;
    const part = make(this.#library);
    this.#parts.set(name, part);
    // The exports themselves: the bundler makes getters of them.
    this.host.harden([...Object.values(part), ...(part.samples?.() ?? [])]);
    return part;
  }

  /** Functions in the place of those of a module that an isolate cannot have. */
  refusals(module: string): NodeModule {
    const known = this.#refusals.get(module);
    if (known !== undefined) return known;
    const names = this.host.text(`node/names/${module}`);
    const made: NodeModule = {};
    for (const name of names === "" ? [] : names.split(",")) made[name] = this.#refuser(module, name);
    this.host.harden(made);
    this.#refusals.set(module, made);
    return made;
  }

  sharedMember(module: string, member: string): unknown {
    const inside = MEMBERS.get(module);
    const root = inside === undefined ? module : inside[0];
    const shared = sharedOf(this.part(root), root) as NodeModule | undefined;
    return inside === undefined ? shared?.[member] : (shared?.[inside[1]] as NodeModule | undefined)?.[member];
  }

  missing(name: string, module: NodeModule): readonly (readonly [member: string, refuse: unknown])[] {
    const known = this.#missing.get(name);
    if (known !== undefined) return known;
    const found = Object.entries(this.refusals(name)).filter(([member]) => !(member in module));
    this.#missing.set(name, found);
    return found;
  }

  /** Freezes the functions of a module that each instance has for itself: instances share most of them. */
  hardenFunctions(name: string, module: NodeModule): void {
    if (this.#opened.has(name)) return;
    this.#opened.add(name);
    const functions: unknown[] = [];
    for (const { value, get, set } of Object.values(Object.getOwnPropertyDescriptors(module))) {
      functions.push(typeof value === "function" ? value : undefined, get, set);
    }
    this.host.harden(functions.filter((one) => one !== undefined));
  }

  absent(name: string): unknown {
    const known = this.#absent.get(name);
    if (known !== undefined) return known;
    const made =
      name === "WebAssembly" ? this.#webAssembly() : (STAND_INS.get(name) ?? this.#refuser("globalThis", name));
    const members = name === "SharedArrayBuffer" ? ["byteLength", "growable", "maxByteLength"] : [];
    for (const member of members)
      defineProperty((made as { prototype: object }).prototype, member, { get: notOne, configurable: true });
    this.host.harden(made);
    this.#absent.set(name, made);
    return made;
  }

  #webAssembly(): NodeModule {
    const made: NodeModule = { validate: () => false };
    for (const name of WEB_ASSEMBLY) made[name] = this.#refuser("WebAssembly", name);
    return made;
  }

  refused(module: string, member: string): unknown {
    return this.refusals(module)[member];
  }

  /** A function, also for code that extends it: only a call of it throws. */
  #refuser(module: string, member: string): unknown {
    const refusal = (): Error => this.refusal(module, member);
    const refuse = function (): never {
      throw refusal();
    };
    defineProperty(refuse, "name", { value: member, configurable: true });
    return refuse;
  }

  refusal(module: string, member: string): Error {
    const error = new Error(`${module}.${member} does not exist inside an isolate: ${adviceOn(module, member)}`);
    return Object.assign(error, { code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM" });
  }
}

/** The library of a realm. */
export interface NodeLibrary {
  /** Node's names for an instance. */
  readonly open: () => NodeInstance;
  /** What instances share of a part. */
  readonly shared: (part: string) => NodeModule;
}

export function createNode(host: NodeHost): NodeLibrary {
  const realm = new NodeRealm(host);
  host.harden([NodeInstance, NodeRealm, adviceOn]);
  return { open: () => new NodeInstance(realm), shared: (part) => realm.load(part).shared as NodeModule };
}
