import { EventEmitter, type Emitter } from "./events.ts";
import { bound } from "./inner/contexts.ts";
import { checkFunction } from "./inner/errors.ts";
import { replacing } from "./inner/lazy-module.ts";
import { library, type NodeModule, type NodeState, soon } from "./inner/library.ts";

/** `process`: each instance has its own. Values about the host are fixed. */

const VERSION = "24.0.0";

/** Prototype of all instances. */
const inherited: NodeModule = {
  title: "node",
  version: `v${VERSION}`,
  versions: Object.freeze({ node: VERSION, v8: "13.6.0", uv: "1.50.0", modules: "137" }),
  release: Object.freeze({ name: "node", lts: "Krypton" }),
  arch: "x64",
  platform: "linux",
  pid: 1,
  ppid: 0,
  execPath: "/usr/bin/node",
  debugPort: 0,
  features: Object.freeze({ inspector: false, debug: false, uv: true, ipv6: true, tls: true }),
  config: Object.freeze({ target_defaults: Object.freeze({}), variables: Object.freeze({}) }),
  nextTick(callback: unknown, ...args: readonly unknown[]) {
    checkFunction(callback, "callback");
    soon(bound(callback), ...args);
  },
  cwd: () => "/",
  uptime: () => (library.host.nowMs() - (library.host.call()?.originMs ?? library.host.nowMs())) / 1_000,
  hrtime,
  memoryUsage,
  cpuUsage: () => ({ user: 0, system: 0 }),
  resourceUsage: () => ({ userCPUTime: 0, systemCPUTime: 0, maxRSS: 0 }),
  availableMemory: () => 0,
  constrainedMemory: () => 0,
  umask: () => 0o22,
  getuid: () => 65_534,
  geteuid: () => 65_534,
  getgid: () => 65_534,
  getegid: () => 65_534,
  getgroups: () => [],
  emitWarning,
  getBuiltinModule: (name: unknown) => library.state().require(String(name as string).replace(/^node:/, "")),
  getActiveResourcesInfo: () => [],
  setUncaughtExceptionCaptureCallback: () => undefined,
  hasUncaughtExceptionCaptureCallback: () => false,
  setSourceMapsEnabled: () => undefined,
  binding: (name: string) => {
    throw library.refusal("process.binding", name);
  },
};

interface WarningOptions {
  readonly type?: string;
  readonly code?: string;
  readonly detail?: string;
}

/** A warning is a line of the log, and an event if there is a listener. */
function emitWarning(warning: unknown, type?: unknown, code?: unknown): void {
  const options: WarningOptions =
    typeof type === "object" && type !== null ? type : { type: type as string, code: code as string };
  const error = warning instanceof Error ? warning : new Error(String(warning as string));
  if (error !== warning) {
    error.name = options.type ?? "Warning";
    for (const name of ["code", "detail"] as const)
      if (typeof options[name] === "string") Reflect.set(error, name, options[name]);
  }
  library.host.call()?.log("warn", `${error.name}: ${error.message}`);
  const process = library.state().require("process") as EventTargetLike;
  if (process.listenerCount("warning") > 0) soon(() => process.emit("warning", error));
}

interface EventTargetLike {
  listenerCount(event: string): number;
  emit(event: string, error: Error): boolean;
}

function hrtime(before?: readonly [number, number]): [number, number] {
  const ms = globalThis.performance.now();
  const seconds = Math.floor(ms / 1_000);
  const nanos = Math.floor((ms % 1_000) * 1e6);
  if (before === undefined) return [seconds, nanos];
  const difference = nanos - before[1];
  return difference < 0 ? [seconds - before[0] - 1, difference + 1e9] : [seconds - before[0], difference];
}
Object.assign(hrtime, { bigint: () => BigInt(Math.floor(globalThis.performance.now() * 1e6)) });

function memoryUsage(): object {
  return { rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 };
}
Object.assign(memoryUsage, { rss: () => 0 });

/** Standard output and error are the log of the call. */
function output(level: "log" | "error", fd: number): object {
  let rest = "";
  const write = (chunk: unknown, ...more: readonly unknown[]): boolean => {
    const lines = (rest + (typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk as Uint8Array))).split(
      "\n",
    );
    rest = lines.pop() ?? "";
    for (const line of lines) library.host.call()?.log(level, line);
    const done = more.find((one) => typeof one === "function") as (() => void) | undefined;
    if (done !== undefined) soon(done);
    return true;
  };
  const stream = new (EventEmitter as unknown as new () => Emitter)();
  const end = (...args: readonly unknown[]): void => {
    if (typeof args[0] === "string") write(args[0]);
    if (rest !== "") write("\n");
  };
  return Object.assign(stream, {
    fd,
    isTTY: false,
    writable: true,
    columns: 80,
    write,
    end,
    cork: () => undefined,
    uncork: () => undefined,
    getColorDepth: () => 1,
    hasColors: () => false,
    getWindowSize: () => [80, 24],
  });
}

function input(): object {
  const stream = new (EventEmitter as unknown as new () => Emitter)();
  const same = (): Emitter => stream;
  return Object.assign(stream, {
    fd: 0,
    isTTY: false,
    readable: false,
    read: () => null,
    resume: same,
    pause: same,
    setEncoding: same,
    unref: same,
    ref: same,
  });
}

class Process {
  env: { [name: string]: string | undefined };
  argv = ["/usr/bin/node", "/tool/tool.js"];
  argv0 = "node";
  execArgv: string[] = [];
  exitCode: number | undefined = undefined;
  report = {
    excludeNetwork: false,
    getReport: () => ({ header: { glibcVersionRuntime: "2.36" }, sharedObjects: [] }),
  };

  constructor(env: { [name: string]: string | undefined }) {
    this.env = env;
  }
}
const { prototype } = Process;
Object.setPrototypeOf(prototype, EventEmitter.prototype as object);
for (const [name, value] of Object.entries(inherited)) {
  Object.defineProperty(prototype, name, { value, writable: true, enumerable: true, configurable: true });
}
Object.defineProperty(prototype, Symbol.toStringTag, { value: "process", configurable: true });
lazily("stdout", () => output("log", 1));
lazily("stderr", () => output("error", 2));
lazily("stdin", input);
// Functions that would affect the process.
for (const name of library.host.text("node/names/process").split(",")) {
  if (name in prototype) continue;
  const refuse = (): never => {
    throw library.refusal("process", name);
  };
  Object.defineProperty(prototype, name, { value: refuse, writable: true, enumerable: true, configurable: true });
}

/** Makes a member of an instance when it is first read; code may replace it. */
function lazily(name: string, make: () => unknown): void {
  const set = replacing(name);
  const get = function (this: object): unknown {
    const made = make();
    Reflect.apply(set, this, [made]);
    return made;
  };
  Object.defineProperty(prototype, name, { get, set, enumerable: true, configurable: true });
}

export function open(state: NodeState): unknown {
  return new Process(Object.assign({ NODE_ENV: "production" }, state.env()));
}

/** The parts that packages of the library itself use. */
export const shared: NodeModule = {
  nextTick: inherited["nextTick"],
  env: Object.freeze({}),
  version: `v${VERSION}`,
  versions: inherited["versions"],
  emitWarning: inherited["emitWarning"],
};
export const hidden = [Process];
