import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type ConnectionOptions, RedisConnection } from "../src/fleet/redis/connection.ts";

const START_MS = 60_000;
const CONNECT_MS = 120_000;
/**
 * The system gives ports from 32,768 on to whoever asks for any: no other program takes one of these between a look and
 * its use, or while its server is away. The second port of a cluster's node is 10,000 above, and not beyond the last.
 */
const [PORT_FIRST, PORTS] = [11_000, 10_000];

/** A Redis of a test's own, on a port that was free, with an append-only file in a folder of its own. */
export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Where its append-only file is. */
  readonly dir: string;
  /** Starts it where it is not running, with what it had. */
  start(): Promise<void>;
  /** Ends it: with SIGTERM it writes what it has, with SIGKILL it does not. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Sends it a signal and waits for nothing: SIGSTOP makes it silent with all its sockets open, SIGCONT lets it go on. */
  signal(signal: NodeJS.Signals): void;
}

export interface RedisServerOptions {
  readonly host?: string;
  readonly args?: readonly string[];
  /** Runs before the program: `ip netns exec NAME` for example. */
  readonly within?: readonly string[];
}

/** A connection of a test's own, once it is there. */
export async function connectTo(url: string, options: ConnectionOptions = {}): Promise<RedisConnection> {
  const connection = RedisConnection.open(url, "test", options);
  if (await connection.ready(CONNECT_MS)) return connection;
  await connection.close();
  throw new Error(`there is no connection: ${connection.failure}`);
}

/** Starts a server. It listens on the loopback address unless told otherwise. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const { host = "127.0.0.1", args = [], within = [] } = options;
  const port = await freePort();
  const dir = await mkdtemp(join(tmpdir(), "glovebox-redis-"));
  const settings = [
    ["--port", `${port}`],
    ["--bind", host],
    ["--protected-mode", "no"],
    ["--appendonly", "yes"],
    ["--save", ""],
    ["--dir", dir],
    ["--loglevel", "warning"],
  ].flat();
  const [program = "", ...programArgs] = [...within, "redis-server", ...settings, ...args];
  const url = `redis://${host}:${port}`;
  let child: ChildProcess | null = null;
  const server: RedisServer = {
    url,
    port,
    dir,
    start: async () => {
      if (child !== null) return;
      child = spawn(program, programArgs, { stdio: "ignore" });
      if (within.length > 0) return;
      await untilItAnswers(url);
    },
    stop: async (signal = "SIGTERM") => {
      const ending = child;
      child = null;
      if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return;
      const ended = once(ending, "exit");
      ending.kill(signal);
      await ended;
    },
    signal: (signal) => void child?.kill(signal),
    [Symbol.asyncDispose]: async () => {
      await server.stop("SIGKILL");
      await rm(dir, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

async function untilItAnswers(url: string): Promise<void> {
  const untilMs = performance.now() + START_MS;
  await using connection = RedisConnection.open(url, "test");
  while (!(await connection.ready(100))) {
    if (performance.now() > untilMs) throw new Error("redis-server does not answer: is it installed?");
    await delay(20);
  }
}

/** Processes that run side by side begin far from each other. */
let portsSeen = process.pid * 397;

/** A port that nobody has at this moment. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS; tries++) {
    const port = PORT_FIRST + (portsSeen++ % PORTS);
    if (await isFree(port)) return port;
  }
  throw new Error("all ports for tests are taken");
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
