/** A service as its users run it, with callers, and what is around it: a Redis, worker machines, servers of others. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { freePort, type RedisServer, startRedis } from "../redis-server.ts";
import { noticeOf, ROOT } from "../server/served.ts";
import { type Counter, startCounter } from "./counter.ts";

/** The command as it is installed. */
export const COMMAND: readonly string[] = [process.execPath, "--no-warnings", join(ROOT, "bin/glovebox.js")];
const READY_MS = 120_000;
const END_MS = 60_000;
const LOOK_MS = 50;
const PROBE_MS = 2_000;
const READABLE = 0o755;
const FLEET_SECRET = "the secret of all of this fleet";

export interface SceneSettings {
  /** More of the configuration, as YAML, in which `ORIGIN` stands for that of the counter. */
  readonly config?: string;
  /** Worker machines behind a Redis. Default: none, and no Redis. */
  readonly machines?: number;
  /** A Redis for idempotency keys and `kv`, without a fleet. */
  readonly store?: "redis";
  /** The command of its processes. Default: as it is installed. */
  readonly command?: readonly string[];
  /** Runs before the service's program. */
  readonly within?: (scene: Folder) => readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Other files, by their names. */
  readonly files?: (scene: Folder) => Readonly<Record<string, string>>;
  /** Starts another Redis than a single one, and answers where services find it. */
  readonly startRedis?: (owned: AsyncDisposableStack) => Promise<FoundRedis>;
}

export interface FoundRedis {
  readonly server: RedisServer;
  readonly url: string;
}

interface Folder {
  readonly path: string;
  readonly counter: Counter;
}

/** A process of the command line. */
export interface Service {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly url: string;
  readonly lines: string[];
  readonly exit: Promise<unknown>;
  /** Ends it, and waits until it has ended. */
  readonly end: (signal: NodeJS.Signals) => Promise<void>;
}

export interface Scene extends Folder, AsyncDisposable {
  readonly owned: AsyncDisposableStack;
  readonly redis: RedisServer;
  readonly machines: Service[];
  server: Service;
  /** All lines of all logs so far. */
  readonly lines: () => readonly string[];
  readonly write: (name: string, text: string) => void;
  /** Starts the server again, after it has ended, where callers find it. */
  readonly restart: () => Promise<void>;
  readonly addMachine: (env?: NodeJS.ProcessEnv, command?: readonly string[]) => Promise<Service>;
  /** Starts one more server of the same configuration, on another port. */
  readonly addServer: (command?: readonly string[]) => Promise<Service>;
}

/** The text of a tool that answers by itself, and of one that tells somebody outside what it does. */
function toolsOf(origin: string): Readonly<Record<string, string>> {
  const asks = `capabilities: { fetch: { origins: ["${origin}"] } }`;
  return {
    "tools/add.js": 'export const spec = { name: "add", description: "Adds." };\nexport default ({ a, b }) => a + b;\n',
    "tools/tell.js": `export const spec = { name: "tell", description: "Tells.", ${asks} };
export default async ({ key }) => {
  const response = await fetch("${origin}/tell/" + key);
  return { said: await response.text() };
};\n`,
  };
}

export async function openScene(settings: SceneSettings = {}): Promise<Scene> {
  const { machines = 0, store } = settings;
  await using owned = new AsyncDisposableStack();
  const path = mkdtempSync(join(tmpdir(), "glovebox-scene-"));
  owned.defer(() => rmSync(path, { recursive: true, force: true }));
  chmodSync(path, READABLE);
  const write = (name: string, text: string): void => {
    mkdirSync(join(path, name, ".."), { recursive: true });
    writeFileSync(join(path, name), text);
  };
  const counter = owned.use(await startCounter());
  const { startRedis: start = startSingle } = settings;
  const found = machines > 0 || store === "redis" ? await start(owned) : null;
  const port = await freePort();
  const files = { ...toolsOf(counter.origin), ...settings.files?.({ path, counter }) };
  for (const [name, text] of Object.entries(files)) write(name, text);
  write("glovebox.config.yaml", configOf(port, counter.origin, found?.url ?? "", settings));
  const scene: SceneOf = { path, counter, found, write, port, settings };
  return await assemble(scene, owned.move());
}

async function startSingle(owned: AsyncDisposableStack): Promise<FoundRedis> {
  const server = owned.use(await startRedis());
  return { server, url: server.url };
}

interface SceneOf extends Folder {
  readonly found: FoundRedis | null;
  readonly write: (name: string, text: string) => void;
  readonly port: number;
  readonly settings: SceneSettings;
}

async function assemble(of: SceneOf, owned: AsyncDisposableStack): Promise<Scene> {
  const { path, counter, found, write, port, settings } = of;
  const { within, env = {}, machines = 0, command: usual = COMMAND } = settings;
  const all: Service[] = [];
  const start = async (command: readonly string[], more: NodeJS.ProcessEnv): Promise<Service> => {
    const service = await startService(command, path, { ...env, ...more });
    all.push(service);
    return service;
  };
  const serve = (): Promise<Service> => start([...(within?.({ path, counter }) ?? []), ...usual, "serve"], {});
  const working = ["worker", "--redis", found?.url ?? "", "--workers", "1", "--port", "0", "--slots", "8"];
  const addServer = (command = usual): Promise<Service> => start([...command, "serve", "--port", "0"], {});
  const addMachine = async (more: NodeJS.ProcessEnv = {}, command = usual): Promise<Service> => {
    const machine = await start([...command, ...working], { GLOVEBOX_FLEET_SECRET: FLEET_SECRET, ...more });
    built.push(machine);
    return machine;
  };
  const built: Service[] = [];
  // Mounts and files that a fault has taken away come back before the folder is removed.
  const end = async (): Promise<void> => {
    await Promise.all(all.map((service) => service.end("SIGKILL")));
    await owned.disposeAsync();
  };
  try {
    await Promise.all(Array.from({ length: machines }, () => addMachine()));
    const scene: Scene = {
      path,
      counter,
      owned,
      get redis() {
        if (found === null) throw new Error("this scene has no Redis");
        return found.server;
      },
      machines: built,
      server: await serve(),
      lines: () => all.flatMap(({ lines }) => lines),
      write,
      addMachine,
      addServer,
      restart: async () => {
        scene.server = await serve();
        if (!scene.server.url.endsWith(`:${port}`)) throw new Error("it came back on another port");
      },
      [Symbol.asyncDispose]: end,
    };
    return scene;
  } catch (error) {
    await end();
    throw error;
  }
}

function configOf(
  port: number,
  origin: string,
  url: string,
  { config = "", machines = 0, store }: SceneSettings,
): string {
  const fleet = `executor: { kind: queue, url: "${url}", fleet: default, secret: "${FLEET_SECRET}" }\n`;
  return [
    "tools: [./tools]\nworkers: 1\n",
    `port: ${port}\n`,
    "limits: { wallMs: 10000, queueMs: 10000 }\n",
    /^policy:/m.test(config)
      ? ""
      : `policy: { rules: [{ allow: { fetch: { origins: [], privateOrigins: ["${origin}"], methods: [GET, HEAD, POST] } } }] }\n`,
    machines > 0 ? fleet : "",
    store === "redis" || machines > 0 ? `idempotency: { url: "${url}", secret: "${FLEET_SECRET}" }\n` : "",
    config.replaceAll("ORIGIN", origin),
  ].join("");
}

/** Waits until it says where it listens: a machine with its metrics. */
async function startService(command: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Service> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(noticeOf(line)));
  const out: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => out.push(line));
  const exit = once(child, "close");
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), END_MS);
    await exit;
    clearTimeout(timer);
  };
  const untilMs = performance.now() + READY_MS;
  for (;;) {
    const url = /(?:listening on|metrics on) (http:\/\/[^/\s]+)/.exec(out.join("\n"))?.[1];
    if (url !== undefined) return { child, pid: child.pid ?? 0, url, lines, exit, end };
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > untilMs) {
      await end("SIGKILL");
      throw new Error(`the service did not start: ${lines.join("\n")}`);
    }
    await delay(LOOK_MS);
  }
}

/** The answer to a probe: status and body of `/readyz`; 0 where nobody answers. */
export interface Readiness {
  readonly status: number;
  readonly body: string;
}

export async function readinessOf({ url }: Service): Promise<Readiness> {
  return read(`${url}/readyz`);
}

/** A scrape, with `up` as Prometheus writes it: 0 where nobody answers. */
export async function scrapeOf(service: Service): Promise<string> {
  const { status, body } = await read(`${service.url}/metrics`);
  return status === 200 ? `up 1\n${body}` : "up 0\n";
}

async function read(url: string): Promise<Readiness> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_MS) });
    return { status: response.status, body: await response.text() };
  } catch {
    return { status: 0, body: "" };
  }
}
