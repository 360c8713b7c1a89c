import type { Environment } from "../call.ts";
import { ABSENT_GLOBALS, adviceOn, refusalOf } from "./inner/advice.ts";
import { copyMembers, lazyModule } from "./inner/lazy-module.ts";
import type { Library, LibraryPart, NodeHost, NodeModule, NodeState } from "./inner/library.ts";
import { STAND_INS } from "./inner/stand-ins.ts";

/**
 * Node's modules and globals inside a realm. The shared part of a module is evaluated once for the realm, when the
 * first instance uses it, and frozen with it; changeable parts belong to their instance.
 */

/** Modules that are a member of another one: its name, and the member's. */
const MEMBERS: ReadonlySet<string> = new Set([
  "assert/strict",
  "dns/promises",
  "fs/promises",
  "inspector/promises",
  "path/posix",
  "path/win32",
  "readline/promises",
  "stream/promises",
  "timers/promises",
  "util/types",
]);
/** Modules that are another one. */
const SAME: ReadonlyMap<string, string> = new Map([["sys", "util"]]);
/** Parts by module, if several modules are in one. */
const PARTS: ReadonlyMap<string, string> = new Map([
  ["cluster", "probes"],
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

const NO_ENVIRONMENT: Environment = {};

const { defineProperty, freeze, getOwnPropertyDescriptor } = Object;

/** Node's names, as the factory of a tool gets them. */
export class NodeInstance implements NodeState {
  readonly lacksFetch: boolean;
  #env: Environment;
  readonly #realm: NodeRealm;
  // Made on first use: most instances use one module.
  #kept: Map<string, unknown> | null = null;
  #modules: Map<string, unknown> | null = null;
  /** Globals that the instance's code has replaced. */
  #replaced: Map<string, unknown> | null = null;

  constructor(realm: NodeRealm, lacksFetch: boolean, env: Environment = NO_ENVIRONMENT) {
    this.#realm = realm;
    this.lacksFetch = lacksFetch;
    this.#env = env;
  }

  get kept(): Map<string, unknown> {
    return (this.#kept ??= new Map());
  }

  env(): Environment {
    return this.#env;
  }

  /** Replaces the variables of the last call by those of the call whose turn it is. */
  setEnvironment(env: Environment): void {
    if (env === this.#env) return;
    const process = this.#modules?.get("process") as { readonly env: { [name: string]: unknown } } | undefined;
    if (process !== undefined) {
      for (const name of Object.keys(this.#env)) if (!(name in env)) delete process.env[name];
      Object.assign(process.env, env);
    }
    this.#env = env;
  }

  require(name: string): unknown {
    const modules = (this.#modules ??= new Map());
    const known = modules.get(name);
    if (known !== undefined) return known;
    const made = this.#open(name);
    modules.set(name, made);
    return made;
  }

  /** A member of a module; one that an isolate cannot have throws on use. */
  member(name: string, member: string): unknown {
    // Until the instance's own module is made, it has the shared members.
    const found = this.#modules?.has(name) === true ? undefined : this.#shared(name, member);
    return found ?? (this.require(name) as NodeModule)[member];
  }

  /** A member without the instance's module; `undefined` if none exists. */
  #shared(name: string, member: string): unknown {
    const found = this.#realm.sharedMember(name, member);
    return typeof found === "object" && MEMBERS.has(`${name}/${member}`) ? this.require(`${name}/${member}`) : found;
  }

  /** A global that an isolate cannot have, for code that assumes it. */
  absent(name: string): unknown {
    return this.#realm.absent(name);
  }

  #open(name: string): unknown {
    const same = SAME.get(name);
    if (same !== undefined) return this.require(same);
    const opened = this.#realm.open(this, name);
    if (opened !== undefined) return opened;
    const shared = this.#realm.shared(name);
    if (typeof shared === "function") return shared;
    return lazyModule(
      (member) => this.#shared(name, member),
      (module) => this.#fill(module, name, shared ?? {}),
    );
  }

  #fill(module: NodeModule, name: string, shared: NodeModule): void {
    copyMembers(shared, module);
    for (const inner of MEMBERS) {
      if (inner.startsWith(`${name}/`)) module[inner.slice(name.length + 1)] = this.require(inner);
    }
    this.#realm.complete(name, module);
  }

  /** A global as the instance's code has it. */
  global(name: string): unknown {
    const replaced = this.#replaced;
    if (replaced !== null && replaced.has(name)) return replaced.get(name);
    const part = GLOBALS.get(name);
    if (part === undefined) return this.require(name);
    if (part === "timers") return this.member(part, name);
    const loaded = this.#realm.load(part);
    return Reflect.get(name in loaded ? loaded : (loaded.shared ?? loaded), name);
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
  ["EventSource", "event-source"],
  ["MessageEvent", "web-events"],
  ["CloseEvent", "web-events"],
  ["MessageChannel", "ports"],
  ["MessagePort", "ports"],
  ["performance", "perf_hooks"],
  ["CompressionStream", "streams"],
  ["DecompressionStream", "streams"],
  ["navigator", "os"],
  ["BoundPromise", "async_hooks"],
  ["boundGlobals", "async_hooks"],
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

/** The exports of a module that instances share. */
function sharedOf(part: LibraryPart | null, module: string): LibraryPart["shared"] | undefined {
  return part?.modules?.[module] ?? part?.shared;
}

const WEB_ASSEMBLY =
  "Module Instance Memory Table Global compile compileStreaming instantiate instantiateStreaming".split(" ");

/** The getter of a class without objects. */
function notOne(): never {
  throw new TypeError("this is no object of the class");
}

/** More names than Node has: code may request any, and the realm's entries for them outlive the call. */
const NAMES_MAX = 500;

/** Keeps the value made for a name, as long as there are no more than Node's own. */
function keepNamed<T>(known: Map<string, T>, name: string, made: T): T {
  if (known.size < NAMES_MAX) known.set(name, made);
  return made;
}

/** The library of one realm. */
class NodeRealm implements Library {
  readonly host: NodeHost;
  readonly #parts = new Map<string, LibraryPart | null>();
  readonly #refusals = new Map<string, NodeModule>();
  /** Members that each module lacks, by its name. */
  readonly #missing = new Map<string, readonly (readonly [member: string, refuse: unknown])[]>();
  readonly #opened = new Set<string>();
  readonly #absent = new Map<string, unknown>();
  /** Members that instances share, by module and name. */
  readonly #members = new Map<string, Map<string, unknown>>();
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

  module(name: string): unknown {
    const part = this.part(name);
    return part?.packages ?? sharedOf(part, name);
  }

  /** Code that runs without a call has separate state, which is then dropped. */
  state(): NodeState {
    return (this.host.call()?.node as NodeInstance | null | undefined) ?? new NodeInstance(this, false);
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
    return text === "" ? keepNamed(this.#parts, name, null) : this.#evaluate(name);
  }

  #evaluate(name: string): LibraryPart {
    const make = this.host.evaluate(`node/${name}`) as (library: Library) => LibraryPart;
    const part = make(this.#library);
    // The exports themselves: the bundler makes getters of them.
    this.host.harden([...Object.values(part), ...(part.samples?.() ?? [])]);
    // Only now: a part that is known is not frozen again.
    this.#parts.set(name, part);
    return part;
  }

  /** Functions that replace those of a module that an isolate cannot have. */
  refusals(module: string): NodeModule {
    const known = this.#refusals.get(module);
    if (known !== undefined) return known;
    const names = this.host.text(`node/names/${module}`);
    const made: NodeModule = {};
    for (const name of names === "" ? [] : names.split(",")) made[name] = this.#refuser(module, name);
    this.host.harden(made);
    return keepNamed(this.#refusals, module, made);
  }

  /** The shared part of a module; `undefined` if it has only names. */
  shared(name: string): LibraryPart["shared"] | undefined {
    if (!MEMBERS.has(name)) return sharedOf(this.part(name), name);
    const [root = "", member = ""] = name.split("/");
    return (this.shared(root) as NodeModule | undefined)?.[member] as NodeModule | undefined;
  }

  /** A module of which each instance has its own. */
  open(state: NodeState, name: string): unknown {
    const opened = this.part(name)?.open?.(state, name) as NodeModule | undefined;
    if (opened === undefined) return undefined;
    this.#hardenFunctions(name, opened);
    this.complete(name, opened);
    return opened;
  }

  /** A member of a module that instances share; `undefined` if none exists. */
  sharedMember(name: string, member: string): unknown {
    const known = this.#members.get(name)?.get(member);
    if (known !== undefined) return known;
    if (!MEMBERS.has(name) && this.part(name)?.open !== undefined) return undefined;
    const shared = (this.shared(name) ?? {}) as NodeModule;
    const found = shared[member] ?? this.refusals(name)[member];
    // The result of a getter, also of an inherited one, may be the instance's.
    const property = getOwnPropertyDescriptor(shared, member);
    const isFixed = property === undefined ? !(member in shared) : "value" in property;
    if (found !== undefined && isFixed) this.#keep(name, member, found);
    return found;
  }

  #keep(name: string, member: string, value: unknown): void {
    const members = this.#members.get(name) ?? new Map<string, unknown>();
    this.#members.set(name, members.set(member, value));
  }

  /** Adds refusing functions for the missing members of a module. */
  complete(name: string, module: NodeModule): void {
    let missing = this.#missing.get(name);
    if (missing === undefined) {
      const all = Object.entries(this.refusals(name));
      missing = keepNamed(
        this.#missing,
        name,
        all.filter(([member]) => !(member in module)),
      );
    }
    for (const [member, refuse] of missing) module[member] = refuse;
  }

  /** Freezes the functions of a module that each instance owns: instances share most of them. */
  #hardenFunctions(name: string, module: NodeModule): void {
    if (this.#opened.has(name)) return;
    const functions: unknown[] = [];
    for (const { value, get, set } of Object.values(Object.getOwnPropertyDescriptors(module))) {
      functions.push(typeof value === "function" ? value : undefined, get, set);
    }
    this.host.harden(functions.filter((one) => one !== undefined));
    this.#opened.add(name);
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
    // A name that code makes up is not kept: a later call would see that it was asked for.
    if (ABSENT_GLOBALS.includes(name)) this.#absent.set(name, made);
    return made;
  }

  #webAssembly(): NodeModule {
    const made: NodeModule = { validate: () => false };
    for (const name of WEB_ASSEMBLY) made[name] = this.#refuser("WebAssembly", name);
    return made;
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
    return Object.assign(new Error(refusalOf(module, member)), { code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM" });
  }
}

/** The library of a realm. */
export interface NodeLibrary {
  /** Node's names for an instance. */
  readonly open: (lacksFetch: boolean, env: Environment | undefined) => NodeInstance;
  /** The exports of a part that instances share. */
  readonly shared: (part: string) => NodeModule;
}

export function createNode(host: NodeHost): NodeLibrary {
  const realm = new NodeRealm(host);
  host.harden([NodeInstance, NodeRealm, adviceOn, refusalOf]);
  return {
    open: (lacksFetch, env) => new NodeInstance(realm, lacksFetch, env),
    shared: (part) => realm.load(part).shared as NodeModule,
  };
}
