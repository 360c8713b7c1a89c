import { EventEmitter, type Emitter } from "./events.ts";
import { checkFunction } from "./inner/errors.ts";
import { library, type NodeModule, type NodeState, soon } from "./inner/library.ts";
import { adviceOn } from "./inner/advice.ts";

/** `process`: each instance has its own. What says something of the host is fixed. */

const VERSION = "24.0.0";

/** What all instances inherit. */
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
    soon(callback, ...args);
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
  emitWarning(warning: unknown, type?: unknown) {
    const name = typeof type === "string" ? type : ((type as { type?: string } | undefined)?.type ?? "Warning");
    const text =
      warning instanceof Error ? `${warning.name}: ${warning.message}` : `${name}: ${String(warning as string)}`;
    library.host.call()?.log("warn", text);
  },
  getBuiltinModule: (name: unknown) => library.state().require(String(name as string).replace(/^node:/, "")),
  getActiveResourcesInfo: () => [],
  setUncaughtExceptionCaptureCallback: () => undefined,
  hasUncaughtExceptionCaptureCallback: () => false,
  setSourceMapsEnabled: () => undefined,
  binding: (name: string) => {
    throw library.refusal("process.binding", name);
  },
};

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

/** Members that would act on the process. */
const REFUSED = [
  "exit",
  "abort",
  "kill",
  "chdir",
  "dlopen",
  "reallyExit",
  "setuid",
  "setgid",
  "seteuid",
  "setegid",
  "setgroups",
  "initgroups",
  "loadEnvFile",
  "execve",
];
for (const name of REFUSED) {
  inherited[name] = () => {
    throw Object.assign(new Error(`process.${name} does not exist inside an isolate: ${adviceOn("process", name)}`), {
      code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM",
    });
  };
}

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

/** Makes a member when it is first read; code may replace it. */
function lazily(target: object, name: string, make: () => unknown): void {
  const replace = (value: unknown): void =>
    void Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
  Object.defineProperty(target, name, {
    enumerable: true,
    configurable: true,
    get: () => {
      const made = make();
      replace(made);
      return made;
    },
    set: replace,
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
Object.setPrototypeOf(Process.prototype, EventEmitter.prototype as object);
for (const [name, value] of Object.entries(inherited)) {
  Object.defineProperty(Process.prototype, name, { value, writable: true, enumerable: true, configurable: true });
}
Object.defineProperty(Process.prototype, Symbol.toStringTag, { value: "process", configurable: true });

export function open(state: NodeState): unknown {
  const made = new Process(Object.assign({ NODE_ENV: "production" }, state.env()));
  lazily(made, "stdout", () => output("log", 1));
  lazily(made, "stderr", () => output("error", 2));
  lazily(made, "stdin", input);
  return made;
}

/** What the packages of the library itself use. */
export const shared: NodeModule = {
  nextTick: inherited["nextTick"],
  env: Object.freeze({}),
  version: `v${VERSION}`,
  versions: inherited["versions"],
  emitWarning: inherited["emitWarning"],
};
export const hidden = [Process];
