/** Networks of a test's own: hosts in network namespaces, behind one bridge, whose cables can be pulled out. Linux and root only. */
import { type ChildProcess, execFile, execFileSync, spawn, type SpawnOptions } from "node:child_process";
import { readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { isAlive } from "../processes.ts";

const run = promisify(execFile);

/** Every name begins with this and the pid of its maker, so that what a killed run left behind is known as such. */
const MARK = "gx";
const OURS = /^gx(?<pid>\d+)n\d+/;
/** 198.18.0.0/15 is set aside for tests of networks (RFC 2544): 512 networks of 254 hosts each. */
const NETWORKS = 512;
const HOSTS_MAX = 99;
const UP_MS = 60_000;
/** The states of a bridge's port: one that is disabled drops what comes and goes, and tells neither side. */
const DISABLED = "0";
const FORWARDING = "3";

export interface NetworkHost {
  readonly name: string;
  readonly address: string;
  /** What stands before a command that is to run there. */
  readonly within: readonly string[];
  /** Starts a program there. It is killed with the network at the latest. */
  run(command: string, args: readonly string[], options?: SpawnOptions): ChildProcess;
  /** From now on nothing arrives in either direction. No socket is told: all stay open, and silent. */
  cut(): Promise<void>;
  mend(): Promise<void>;
}

export interface Network extends AsyncDisposable {
  /** Of the machine itself: where the hosts reach what tests listen with. */
  readonly address: string;
  host(name: string): Promise<NetworkHost>;
}

let made = 0;

/** Makes one. Removes what earlier runs left behind when they were killed. */
export async function createNetwork(): Promise<Network> {
  await removeWhere((pid) => pid !== process.pid && !isAlive(pid));
  const id = `${MARK}${process.pid}n${made++}`;
  const net = freeNetwork();
  const address = `${net}.1`;
  let hosts = 0;
  const network: Network = {
    address,
    host: async (name) => {
      if (hosts >= HOSTS_MAX) throw new Error(`a network has ${HOSTS_MAX} hosts at most`);
      return addHost(id, name, hosts++, net);
    },
    [Symbol.asyncDispose]: () => removeWhere((pid, each) => pid === process.pid && belongs(each, id)),
  };
  try {
    await run("ip", ["link", "add", id, "address", macOf(address), "type", "bridge"]);
    await run("ip", ["address", "add", `${address}/24`, "dev", id]);
    await run("ip", ["link", "set", id, "up"]);
  } catch (error) {
    await network[Symbol.asyncDispose]();
    throw error;
  }
  return network;
}

async function addHost(id: string, name: string, index: number, net: string): Promise<NetworkHost> {
  const [gateway, address] = [`${net}.1`, `${net}.${index + 2}`];
  const port = `${id}h${index}`;
  const space = `${port}-${name}`;
  const within = ["ip", "netns", "exec", space];
  const inside = async (...args: readonly string[]): Promise<unknown> => run("ip", ["-netns", space, ...args]);
  await run("ip", ["netns", "add", space]);
  const peer = ["peer", "name", "eth0", "address", macOf(address), "netns", space];
  await run("ip", ["link", "add", port, "type", "veth", ...peer]);
  await run("ip", ["link", "set", port, "master", id, "up"]);
  await inside("address", "add", `${address}/24`, "dev", "eth0");
  await inside("link", "set", "lo", "up");
  await inside("link", "set", "eth0", "up");
  // Who looks for a neighbour that does not answer is told so after some seconds. Behind a router nobody would be.
  await inside("neighbour", "replace", gateway, "lladdr", macOf(gateway), "dev", "eth0", "nud", "permanent");
  await run("ip", ["neighbour", "replace", address, "lladdr", macOf(address), "dev", id, "nud", "permanent"]);
  const become = async (state: string): Promise<void> => {
    await run("bridge", ["link", "set", "dev", port, "state", state]);
  };
  await untilUp(port);
  return {
    name,
    address,
    within,
    run: (command, args, options = {}) => {
      const [program = "", ...before] = within;
      return spawn(program, [...before, command, ...args], options);
    },
    cut: () => become(DISABLED),
    mend: () => become(FORWARDING),
  };
}

/** A port that has just come up is told so once more, up to a second later, and would forget that it was cut. */
async function untilUp(port: string): Promise<void> {
  const untilMs = performance.now() + UP_MS;
  while ((await readFile(`/sys/class/net/${port}/operstate`, "utf8")).trim() !== "up") {
    if (performance.now() > untilMs) throw new Error("the link does not come up");
    await delay(20);
  }
}

/** Answers why there can be no networks on this machine; `null` where there can. */
export function canUseNetworks(): string | null {
  if (process.platform !== "linux") return "network namespaces are Linux's";
  if (process.getuid?.() !== 0) return "network namespaces need root";
  const id = `${MARK}${process.pid}n${made++}`;
  const port = `${id}h0`;
  const ip = (...args: readonly string[]): unknown => execFileSync("ip", args, { stdio: "pipe" });
  try {
    ip("netns", "add", port);
    ip("link", "add", id, "type", "bridge");
    ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", port);
    ip("link", "set", port, "master", id, "up");
    execFileSync("bridge", ["link", "set", "dev", port, "state", DISABLED], { stdio: "pipe" });
    return null;
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    return isMissing ? "iproute2 is not installed" : "the kernel makes no network namespaces, bridges or veth pairs";
  } finally {
    for (const args of [
      ["link", "delete", id],
      ["netns", "delete", port],
    ])
      quietly(() => ip(...args));
  }
}

function quietly(act: () => unknown): void {
  try {
    act();
  } catch {
    // It was not there.
  }
}

/** Removes namespaces, with what runs in them, and bridges. A veth pair goes with its namespace. */
async function removeWhere(isGoing: (pid: number, name: string) => boolean): Promise<void> {
  const going = (name: string): boolean => {
    const pid = OURS.exec(name)?.groups?.["pid"];
    return pid !== undefined && isGoing(Number(pid), name);
  };
  for (const space of (await namesOf(["netns", "list"])).filter(going)) {
    // Tests beside these may remove it as well.
    const { stdout } = await run("ip", ["netns", "pids", space]).catch(() => ({ stdout: "" }));
    for (const pid of stdout.split("\n").filter(Boolean)) quietly(() => process.kill(Number(pid), "SIGKILL"));
    await run("ip", ["netns", "delete", space]).catch(() => undefined);
  }
  for (const bridge of (await namesOf(["-brief", "link", "show", "type", "bridge"])).filter(going))
    await run("ip", ["link", "delete", bridge]).catch(() => undefined);
}

/** The first word of each line. */
async function namesOf(args: readonly string[]): Promise<string[]> {
  const { stdout } = await run("ip", args);
  return stdout.split("\n").flatMap((line) => line.split(/\s/)[0] || []);
}

function belongs(name: string, id: string): boolean {
  return name === id || name.startsWith(`${id}h`);
}

/** A network that this machine has no address in. Where to look first depends on the process, so that two seldom meet. */
function freeNetwork(): string {
  const taken = Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
  for (let step = 0; step < NETWORKS; step++) {
    const at = (process.pid + step) % NETWORKS;
    const net = `198.${18 + Math.floor(at / 256)}.${at % 256}`;
    if (!taken.some((address) => address.startsWith(`${net}.`))) return net;
  }
  throw new Error("all networks for tests are taken");
}

function macOf(address: string): string {
  const bytes = address.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
  return ["02", "00", ...bytes].join(":");
}
