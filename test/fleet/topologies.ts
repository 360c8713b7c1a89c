/** Redis as it is run where it must not fail: watched by sentinels, or as a cluster. Real servers, with short patience. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { freePort, type RedisServer, startRedis } from "../redis-server.ts";

const run = promisify(execFile);

const HOST = "127.0.0.1";
const START_MS = 120_000;
const SLOTS = 16_384;
const SENTINELS = 3;
const NODE_TIMEOUT_MS = 2_000;
const MASTERS = 3;

export interface Sentinels extends AsyncDisposable {
  /** `redis+sentinel://…`, with all three. */
  readonly url: string;
  /** The first master, and the first replica: who is which changes with a failover. */
  readonly master: RedisServer;
  readonly replica: RedisServer;
  /** Sends the sentinels a signal: SIGSTOP silences them, SIGCONT lets them speak again. */
  signal(which: number, signal: NodeJS.Signals): void;
  /** The port of the server that the sentinels call the master now. */
  masterPort(): Promise<number>;
}

/** A master, a replica, and three sentinels, two of which decide. They hold one that is silent for a second to be gone. */
export async function startSentinels(password = ""): Promise<Sentinels> {
  await using stack = new AsyncDisposableStack();
  const secret = password === "" ? [] : ["--requirepass", password, "--masterauth", password];
  const master = stack.use(await startRedis());
  const replica = stack.use(await startRedis({ args: ["--replicaof", HOST, `${master.port}`] }));
  for (const server of [master, replica]) await configure(server, secret);
  await until("the replica has what the master has", async () =>
    (await ask(replica.port, ["INFO", "replication"], password)).includes("master_link_status:up"),
  );
  const watchers = await Promise.all(Array.from({ length: SENTINELS }, () => startSentinel(master.port, password)));
  for (const each of watchers) stack.use(each);
  for (const { port } of watchers)
    await until("the sentinels know each other", async () => {
      const said = await ask(port, ["SENTINEL", "MASTER", "main"]);
      return said.includes("num-other-sentinels,2") && said.includes("num-slaves,1");
    });
  const owned = stack.move();
  const hosts = watchers.map(({ port }) => `${HOST}:${port}`).join(",");
  return {
    url: `redis+sentinel://${password === "" ? "" : `:${encodeURIComponent(password)}@`}${hosts}/main`,
    master,
    replica,
    signal: (which, signal) => watchers[which]?.signal(signal),
    masterPort: async () => {
      const [first] = watchers;
      const said = await ask(first?.port ?? 0, ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"]);
      return Number(said.split(",")[1]);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A password is set once a server has answered without one. */
async function configure(server: RedisServer, settings: readonly string[]): Promise<void> {
  for (let at = 0; at < settings.length; at += 2) {
    const [name = "", value = ""] = settings.slice(at, at + 2);
    await ask(server.port, ["CONFIG", "SET", name.slice(2), value], name === "--masterauth" ? value : "");
  }
}

interface Sentinel extends AsyncDisposable {
  readonly port: number;
  signal(signal: NodeJS.Signals): void;
}

async function startSentinel(masterPort: number, password: string): Promise<Sentinel> {
  const port = await freePort();
  const dir = await mkdtemp(join(tmpdir(), "glovebox-sentinel-"));
  const file = join(dir, "sentinel.conf");
  const lines = [
    `port ${port}`,
    `bind ${HOST}`,
    "protected-mode no",
    `dir ${dir}`,
    `sentinel monitor main ${HOST} ${masterPort} 2`,
    "sentinel down-after-milliseconds main 1000",
    "sentinel failover-timeout main 3000",
    ...(password === "" ? [] : [`sentinel auth-pass main ${password}`]),
  ];
  // It writes into this file what it learns.
  await writeFile(file, `${lines.join("\n")}\n`);
  const child = spawn("redis-server", [file, "--sentinel"], { stdio: "ignore" });
  const ended = once(child, "exit");
  await until("the sentinel answers", async () => (await ask(port, ["PING"])) === "PONG");
  return {
    port,
    signal: (signal) => void child.kill(signal),
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

export interface RedisCluster extends AsyncDisposable {
  /** `redis+cluster://…`, with all that were masters at first. */
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  /** The node that has this key now. */
  nodeOf(key: string): Promise<RedisServer>;
}

/** Three masters, each with this number of replicas. A node that is silent for two seconds counts as failed. */
export async function startCluster(replicas = 0): Promise<RedisCluster> {
  await using stack = new AsyncDisposableStack();
  const nodes: RedisServer[] = [];
  for (let index = 0; index < MASTERS * (replicas + 1); index++) {
    const args = [
      "--cluster-enabled",
      "yes",
      "--cluster-node-timeout",
      // On a busy machine no node may count as failed before the cluster is complete.
      `${START_MS}`,
      "--cluster-port",
      `${await freePort()}`,
    ];
    nodes.push(stack.use(await startRedis({ args })));
  }
  const hosts = nodes.map(({ port }) => `${HOST}:${port}`);
  const how = ["--cluster-replicas", `${replicas}`, "--cluster-yes"];
  await run("redis-cli", ["--cluster", "create", ...hosts, ...how]).catch(
    ({ stdout }: { readonly stdout?: string }) => {
      throw new Error(`redis-cli could not create the cluster: ${stdout}`);
    },
  );
  for (const { port } of nodes)
    await until("the cluster is whole", async () => {
      const said = await ask(port, ["CLUSTER", "INFO"]);
      return said.includes("cluster_state:ok") && said.includes(`cluster_slots_ok:${SLOTS}`);
    });
  for (const { port } of nodes)
    await until("the replicas have what their masters have", async () => {
      const said = await ask(port, ["INFO", "replication"]);
      return (
        said.includes(replicas === 0 ? "role:master" : `connected_slaves:${replicas}`) ||
        said.includes("link_status:up")
      );
    });
  for (const { port } of nodes) await ask(port, ["CONFIG", "SET", "cluster-node-timeout", `${NODE_TIMEOUT_MS}`]);
  const owned = stack.move();
  return {
    url: `redis+cluster://${hosts.slice(0, MASTERS).join(",")}`,
    nodes,
    nodeOf: (key) => ownerOf(nodes, key),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function ownerOf(nodes: readonly RedisServer[], key: string): Promise<RedisServer> {
  for (const { port } of nodes) {
    const slot = Number(await ask(port, ["CLUSTER", "KEYSLOT", key]).catch(() => Number.NaN));
    if (Number.isNaN(slot)) continue;
    const [, owner] = /:(\d+)@/.exec(ofSlot(await ask(port, ["CLUSTER", "NODES"]), slot)) ?? [];
    const found = nodes.find((node) => node.port === Number(owner));
    if (found !== undefined) return found;
  }
  throw new Error(`no node of the cluster says who has ${key}`);
}

/** The line of the node that serves a slot, from what `CLUSTER NODES` says. */
function ofSlot(lines: string, slot: number): string {
  const serves = (range: string): boolean => {
    const [from, to = from] = range.split("-").map(Number);
    return from !== undefined && to !== undefined && from <= slot && slot <= to;
  };
  return lines.split("\n").find((line) => line.split(" ").slice(8).some(serves)) ?? "";
}

/** What a server answers to one command, on a connection of its own; lists come as their items with commas between. */
async function ask(port: number, [command = "", ...args]: readonly string[], password = ""): Promise<string> {
  const auth = password === "" ? {} : { password };
  const client = new Redis({
    host: HOST,
    port,
    ...auth,
    retryStrategy: null,
    commandTimeout: 1_000,
    lazyConnect: true,
  });
  client.on("error", () => undefined);
  try {
    return String(await client.call(command, ...args));
  } finally {
    client.disconnect();
  }
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + START_MS;
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > untilMs) throw new Error(`it was never so that ${what}`);
    await delay(50);
  }
}
