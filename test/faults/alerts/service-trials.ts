/** Alerts on a server, its executors and its tools. */
import { execFileSync } from "node:child_process";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { executors, filesOf } from "../../processes.ts";
import { ask } from "../callers.ts";
import { onDisk, within } from "../disk.ts";
import { executorsOf, SERVER_FAULTS, signal, WEDGE } from "../server-faults.ts";
import type { AlertScene, Stage, Trial } from "./alert.ts";
import { DISK_CONFIG, DISK_TOOLS, DISK_TRIALS, STATE } from "./disk-trials.ts";
import { flood } from "./flood.ts";
import { known, restarted } from "./trial.ts";

/** Files that the server may have open. */
const FILES_MAX = 1_024;
const FILES_SHARE = 0.9;
const TOOLS: Readonly<Record<string, string>> = {
  "tools/rest.js": `export const spec = { name: "rest", description: "Rests.", limits: { wallMs: 30000 } };
export default ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms, "rested"));\n`,
  "tools/hoard.js": `export const spec = { name: "hoard", description: "Holds memory for a while.",
  limits: { memoryMb: 1500, cpuMs: 30000, wallMs: 60000 } };
export default async ({ mb, ms }) => {
  const all = [];
  for (let at = 0; at < mb; at++) all.push(new Array(131072).fill(at));
  await new Promise((resolve) => setTimeout(resolve, ms));
  return all.length;
};\n`,
  "tools/wedge.js": `export const spec = { name: "wedge", description: "Does harm, or not.", limits: { cpuMs: 50 } };
export default ({ isBad }) => { if (isBad) ${WEDGE} return "well"; };\n`,
};

const OF_LOAD: readonly Trial[] = [
  {
    alerts: ["GloveboxQueueFills", "GloveboxQueueWaits", "GloveboxBudgetBurnsFast", "GloveboxBudgetBurnsSlowly"],
    fault: "queue-flooded",
    what: "Callers ask for more than the server can do: the queue is full, and `queue_full` is most of what they hear.",
    heals: "They stop.",
    bring: async ({ scene }) =>
      flood(90, 100, () => ask(scene.server.url, { name: "rest", key: null, args: { ms: 1_500 } })),
  },
  {
    alerts: ["GloveboxSlowCalls"],
    fault: "tool-slow",
    what: "Each call of a tool takes 12 s.",
    heals: "Nobody calls it any more.",
    bring: async ({ scene }) => {
      const asking = new Set<Promise<unknown>>();
      const timer = setInterval(() => {
        const one = ask(scene.server.url, { name: "rest", key: null, args: { ms: 12_000 } });
        asking.add(one);
      }, 1_000);
      return async () => {
        clearInterval(timer);
        await Promise.all(asking);
      };
    },
  },
  {
    alerts: ["GloveboxEventLoopBlocked"],
    fault: "server-starved",
    what: "The server gets no processor for four fifths of the time (SIGSTOP and SIGCONT in turns).",
    heals: "It gets one.",
    bring: async ({ scene: { server } }) =>
      flood(1, 100, async () => {
        signal([server.pid], "SIGSTOP");
        await delay(400);
        signal([server.pid], "SIGCONT");
      }),
  },
  {
    alerts: ["GloveboxFilesRunOut"],
    fault: "connections-kept",
    what: "Clients open connections, and keep them, until nine tenths of the files that the server may have are open.",
    heals: "They close them.",
    bring: async ({ scene: { server } }) => {
      const sockets = new Set<Socket>();
      const port = Number(new URL(server.url).port);
      const missing = (): number => Math.floor(FILES_MAX * FILES_SHARE) - filesOf(server.pid);
      // The server closes those that send nothing: others take their places.
      const over = flood(1, 500, async () => {
        for (let at = missing(); at > 0; at--) {
          const socket = connect(port, "127.0.0.1").on("error", () => undefined);
          socket.once("close", () => sockets.delete(socket));
          sockets.add(socket);
        }
      });
      return async () => {
        await over();
        for (const socket of sockets) socket.destroy();
      };
    },
  },
];

const OF_CONFIGURATION: readonly Trial[] = [
  known(SERVER_FAULTS, "reload-broken", {
    alerts: ["GloveboxReloadRefused"],
    heals: "The file is as it was, and is read again.",
  }),
  {
    alerts: ["GloveboxRefusedKeys"],
    fault: "keys-replaced",
    what: "The server is started again with keys, and callers have none of them.",
    heals: "It is started again as it was.",
    bring: async ({ scene, watch }) => {
      const key = `{ name: prometheus, hash: "${watch.keyHash}", tenant: null, roles: [metrics] }`;
      return restarted(scene, (config) => `${config}keys: [${key}]\n`);
    },
  },
  {
    alerts: ["GloveboxNoSandbox"],
    fault: "sandbox-off",
    what: "The server is started again with `executor.sandbox: off`.",
    heals: "It is started again with a sandbox.",
    bring: async ({ scene }) => restarted(scene, (config) => config.replace("sandbox: require", "sandbox: off")),
  },
  known(SERVER_FAULTS, "server-killed", { alerts: ["GloveboxDown"], heals: "It is started again." }),
];

const OF_EXECUTORS: readonly Trial[] = [
  {
    alerts: ["GloveboxExecutorsLost"],
    fault: "executors-killed",
    what: "Each executor process is killed (SIGKILL) as soon as it is there.",
    heals: "They live.",
    bring: async ({ scene: { server } }) => flood(1, 200, async () => signal(executors(server.pid), "SIGKILL")),
  },
  {
    alerts: ["GloveboxNoExecutor"],
    fault: "bubblewrap-gone",
    what: "Bubblewrap cannot be run any more, a sandbox is required, and all executors are killed.",
    heals: "Bubblewrap is back.",
    bring: async ({ scene }) => {
      const program = execFileSync("sh", ["-c", "command -v bwrap"], { encoding: "utf8" }).trim();
      within(scene, ["mount", "--bind", "/dev/null", program]);
      signal(await executorsOf(scene), "SIGKILL");
      return async () => within(scene, ["umount", program]);
    },
  },
  {
    alerts: ["GloveboxExecutorMemory"],
    fault: "tool-hoards",
    what: "A call holds 800 MiB.",
    heals: "It ends.",
    bring: async ({ scene }) => {
      const call = ask(scene.server.url, { name: "hoard", key: null, args: { mb: 800, ms: 25_000 } });
      return async () => void (await call);
    },
  },
  {
    alerts: ["GloveboxToolQuarantined"],
    fault: "tool-wedges",
    what: "A call of a tool does what V8 cannot interrupt.",
    heals: "Twenty clean calls of it.",
    bring: async (stage) => {
      await wedge(stage, true, 1);
      return () => wedge(stage, false, 25);
    },
  },
];

async function wedge({ scene }: Stage, isBad: boolean, times: number): Promise<void> {
  for (let at = 0; at < times; at++) await ask(scene.server.url, { name: "wedge", key: null, args: { isBad } });
}

const OF_TOOLS: readonly Trial[] = [
  known(SERVER_FAULTS, "destination-down", {
    alerts: ["GloveboxToolFails", "GloveboxCapabilityFails"],
    heals: "It answers again.",
  }),
];

/** A server with executors of its own, and a mount namespace in which programs of the machine can be hidden. */
export const SERVICE: AlertScene = {
  name: "service",
  needs: ["root", "bubblewrap", "prometheus"],
  settings: limited(
    onDisk(STATE, {
      config: `${DISK_CONFIG}executor: { kind: process, sandbox: require, recycle: { rssMb: 600 } }
queue: { concurrency: 20, maxQueued: 40 }\n`,
      files: () => ({ ...TOOLS, ...DISK_TOOLS }),
    }),
  ),
  trials: [...OF_LOAD, ...OF_TOOLS, ...DISK_TRIALS, ...OF_EXECUTORS, ...OF_CONFIGURATION],
};

/** A server that may have so many files open. */
function limited(settings: AlertScene["settings"]): AlertScene["settings"] {
  const before = ["prlimit", `--nofile=${FILES_MAX}:${FILES_MAX}`];
  return { ...settings, within: (of) => [...before, ...(settings.within?.(of) ?? [])] };
}
