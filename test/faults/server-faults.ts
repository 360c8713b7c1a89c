/** Faults of a server, of its executors, and of the servers that its tools ask. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { withClock } from "./clock.ts";
import { configOf } from "./disk.ts";
import { descendants, executors } from "../processes.ts";
import type { Callers } from "./callers.ts";
import type { RunningFault, Sees } from "./fault.ts";
import type { Scene, SceneSettings } from "./scene.ts";

export const CONFIG = "glovebox.config.yaml";
const WAIT_MS = 30_000;
/** V8 cannot interrupt it, so that its executor is ended. */
export const WEDGE = "for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1);";
const EATS = "const all = []; for (;;) all.push(new Array(1e5).fill(all.length));";
const SPINS = "for (;;);";

export const EXECUTOR_LOST: Sees = {
  log: /an executor was lost and replaced/,
  metric: /^glovebox_executor_restarts_total\{reason="\w+"\} [1-9]/,
};

/** Kills or pauses, and takes back what was paused. */
export function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) process.kill(pid, name);
}

export async function executorsOf({ server }: Scene): Promise<readonly number[]> {
  const untilMs = performance.now() + WAIT_MS;
  for (;;) {
    const found = executors(server.pid);
    if (found.length > 0) return found;
    if (performance.now() > untilMs) throw new Error("the server has no executors");
    await delay(50);
  }
}

/** A tool of this body, called some times, beside all others. */
function tool(body: string, limits = ""): SceneSettings {
  const spec = `{ name: "bad", description: "Does harm."${limits} }`;
  return { files: () => ({ "tools/bad.js": `export const spec = ${spec}; export default () => { ${body} };` }) };
}

async function callBad(callers: Callers, times: number): Promise<void> {
  for (let at = 0; at < times; at++) await callers.call({ name: "bad", key: null, args: {} });
}

const OF_EXECUTORS: readonly RunningFault[] = [
  {
    name: "executor-killed",
    place: "server",
    what: "All executor processes are killed (SIGKILL).",
    bring: async (scene) => {
      signal(await executorsOf(scene), "SIGKILL");
      return null;
    },
    sees: EXECUTOR_LOST,
  },
  {
    name: "executor-paused",
    place: "server",
    what: "All executor processes are paused (SIGSTOP) and stay so.",
    bring: async (scene) => {
      signal(await executorsOf(scene), "SIGSTOP");
      return null;
    },
    sees: EXECUTOR_LOST,
  },
  {
    name: "tool-wedges",
    place: "server",
    what: "A tool does what V8 cannot interrupt, four times.",
    settings: tool(WEDGE, ", limits: { cpuMs: 50 }"),
    bring: async (_scene, callers) => {
      await callBad(callers, 4);
      return null;
    },
    sees: { log: /an executor was lost and replaced|quarantined/, metric: /^glovebox_quarantined_tools [1-9]/ },
  },
  {
    name: "tool-takes-memory",
    place: "server",
    what: "A tool takes all memory that it gets, three times.",
    settings: tool(EATS),
    bring: async (_scene, callers) => {
      await callBad(callers, 3);
      return null;
    },
    sees: { metric: /^glovebox_calls_total\{tool="bad",code="memory_limit"\} 3/ },
  },
  {
    name: "tool-never-ends",
    place: "server",
    what: "A tool computes without end, three times.",
    settings: tool(SPINS, ", limits: { cpuMs: 100 }"),
    bring: async (_scene, callers) => {
      await callBad(callers, 3);
      return null;
    },
    sees: { metric: /^glovebox_calls_total\{tool="bad",code="cpu_limit"\} 3/ },
  },
  {
    name: "broker-killed",
    place: "server",
    what: "The broker's process (`broker: process`) is killed (SIGKILL).",
    settings: { config: "broker: process\n" },
    bring: async ({ server }) => {
      const isBroker = (pid: number): boolean => {
        const command = execFileSync("ps", ["-o", "args=", "-p", `${pid}`], { encoding: "utf8" });
        return command.includes("broker");
      };
      const found = descendants(server.pid).filter((pid) => isBroker(pid));
      if (found.length === 0) throw new Error("the server has no process for its broker");
      signal(found, "SIGKILL");
      return null;
    },
    sees: { log: /the broker \w+ ended; another one starts when needed/ },
  },
];

const OF_PROCESS: readonly RunningFault[] = [
  {
    name: "server-killed",
    place: "server",
    what: "The server is killed (SIGKILL), and a supervisor starts it again.",
    bring: async (scene) => {
      await scene.server.end("SIGKILL");
      return () => scene.restart();
    },
    sees: { code: "no connection", metric: /^up 0/, ready: { status: 0 } },
  },
  {
    name: "server-stopped",
    place: "server",
    what: "The server is told to end (SIGTERM), and a supervisor starts it again.",
    bring: async (scene) => {
      await scene.server.end("SIGTERM");
      return () => scene.restart();
    },
    sees: { code: "no connection", metric: /^up 0/, ready: { status: 0 } },
  },
  {
    name: "server-paused",
    place: "server",
    what: "The server is paused (SIGSTOP) for 5 s.",
    bring: async ({ server }) => {
      signal([server.pid], "SIGSTOP");
      return async () => signal([server.pid], "SIGCONT");
    },
    sees: { metric: /^up 0/, ready: { status: 0 }, lastsMs: 5_000 },
  },
  {
    name: "descriptors-run-out",
    place: "server",
    what: "The server may open no more files (`RLIMIT_NOFILE` below what it has open), and its executors are killed.",
    needs: ["root"],
    bring: async (scene) => {
      const pid = `${scene.server.pid}`;
      const limit = (files: string): void => void execFileSync("prlimit", ["--pid", pid, `--nofile=${files}`]);
      limit("24:4096");
      signal(await executorsOf(scene), "SIGKILL");
      return async () => limit("4096:4096");
    },
    sees: { log: /EMFILE/, metric: /^up 0/, ready: { status: 0 }, lastsMs: 3_000 },
  },
  clockJump("clock-jumps", "The server's clock jumps an hour ahead, and later back.", 3_600_000),
  clockJump("clock-jumps-back", "The server's clock jumps an hour back, and later ahead.", -3_600_000),
];

/** A jump of the server's clock, which is undone later. */
function clockJump(name: string, what: string, ms: number): RunningFault {
  return {
    name,
    place: "server",
    what,
    settings: withClock(`let ahead = 0; process.on("SIGUSR2", () => { ahead = ahead === 0 ? ${ms} : 0; });`),
    bring: async ({ server }) => {
      signal([server.pid], "SIGUSR2");
      return async () => signal([server.pid], "SIGUSR2");
    },
    sees: {
      log: /the system's clock jumped/,
      metric:
        ms > 0
          ? /^glovebox_clock_jumps_total\{direction="ahead"\} 1/
          : /^glovebox_clock_jumps_total\{direction="back"\} 1/,
    },
  };
}

/** A reload after `change`, which is refused; the next one, after what was, is taken. */
function refused(name: string, what: string, change: (scene: Scene) => () => void, log: RegExp): RunningFault {
  return {
    name,
    place: "server",
    what,
    bring: async (scene) => {
      const back = change(scene);
      signal([scene.server.pid], "SIGHUP");
      return async () => {
        back();
        signal([scene.server.pid], "SIGHUP");
      };
    },
    sees: { log, metric: /^glovebox_config_reload_failed 1/, ready: { status: 200, says: /was refused/ } },
  };
}

/** Adds to the configuration, and takes it away. */
function adding(scene: Scene, text: string): () => void {
  const before = configOf(scene);
  scene.write(CONFIG, before + text);
  return () => scene.write(CONFIG, before);
}

const OF_RELOADS: readonly RunningFault[] = [
  refused(
    "reload-broken",
    "The configuration is not YAML at a reload (SIGHUP).",
    (scene) => adding(scene, "keys: [\n"),
    /not reloaded, nothing has changed/,
  ),
  refused(
    "reload-setting-wrong",
    "A setting has a wrong value at a reload.",
    (scene) => adding(scene, "queue: { concurrency: 0 }\n"),
    /not reloaded.*concurrency/,
  ),
  refused(
    "reload-policy-bad",
    "A rule of the policy is wrong at a reload.",
    (scene) => {
      const before = configOf(scene);
      scene.write(CONFIG, before.replace(/^policy: .*$/m, "policy: { rules: [{ allow: { env: 5 } }] }"));
      return () => scene.write(CONFIG, before);
    },
    /not reloaded.*allow\.env/,
  ),
  refused(
    "reload-key-missing",
    "The file of a new key is not there at a reload.",
    (scene) => adding(scene, "keys: [{ name: a, file: ./nothing.key, tenant: null, roles: [execute] }]\n"),
    /not reloaded.*nothing\.key/,
  ),
  refused(
    "reload-tool-broken",
    "A tool is no JavaScript at a reload.",
    ({ write, path }) => {
      write("tools/broken.js", "export default (");
      return () => void execFileSync("rm", [join(path, "tools/broken.js")]);
    },
    /not reloaded.*broken/,
  ),
];

const OF_OTHERS: readonly RunningFault[] = [
  {
    name: "destination-down",
    place: "server",
    what: "The server that a tool asks ends connections.",
    bring: async ({ counter }) => {
      counter.manner = "cut";
      return async () => void (counter.manner = "well");
    },
    sees: {
      code: "tool_error",
      metric: /^glovebox_capability_calls_total\{capability="fetch",outcome="(?!ok)\w+"\} [1-9]/,
    },
  },
  {
    name: "destination-silent",
    place: "server",
    what: "The server that a tool asks does not answer.",
    bring: async ({ counter }) => {
      counter.manner = "late";
      return async () => void (counter.manner = "well");
    },
    sees: { code: "wall_limit", metric: /^glovebox_calls_total\{tool="tell",code="wall_limit"\} [1-9]/ },
  },
  {
    name: "destination-garbage",
    place: "server",
    what: "The server that a tool asks answers with what is not HTTP.",
    bring: async ({ counter }) => {
      counter.manner = "garbage";
      return async () => void (counter.manner = "well");
    },
    sees: { code: "tool_error" },
  },
];

export const SERVER_FAULTS: readonly RunningFault[] = [...OF_EXECUTORS, ...OF_PROCESS, ...OF_RELOADS, ...OF_OTHERS];
