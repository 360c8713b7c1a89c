import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import type { Duplex, Readable, Writable } from "node:stream";
import { within } from "../../../kernel/base/deadline.ts";
import { closedIn, DEVICES, isLink, ownFolder, PROGRAMS, readOnly } from "../../../kernel/base/os/bubblewrap.ts";
import { killGroup } from "../../../kernel/base/os/process-group.ts";
import { Descriptors } from "../../../kernel/base/os/descriptors.ts";
import { limitCommands, SHELL } from "../../../kernel/base/os/rlimits.ts";
import { findJail, type Inside, type Jail } from "../../../kernel/broker/jail/jail.ts";
import { type Killing, Supervision } from "../../../kernel/broker/jail/supervision.ts";
import { McpError } from "./failure.ts";
import type { McpLimits } from "./limits.ts";
import type { StdioServer } from "./server.ts";

/** A started server. */
export interface ServerProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Its process group, if the end of this thread does not end its processes. */
  readonly group: number | null;
  /** Resolves with the reason for its end, when none of its processes has the pipes open. Never rejects. */
  readonly ended: Promise<string>;
  /** Ends all of its processes, after a time in which it may end itself. */
  close(): Promise<void>;
}

/** In-memory folders of the server, removed with the sandbox. */
const OWN: readonly string[] = ["/home", "/tmp", "/dev/shm"];
/** Files that programs with a network read: names of hosts, certificates, names of users. */
const NETWORK: readonly string[] = [
  "/etc/resolv.conf",
  "/etc/hosts",
  "/etc/nsswitch.conf",
  "/etc/gai.conf",
  "/etc/ssl",
  "/etc/ca-certificates",
  "/etc/pki",
];
const KILL_MS = 10_000;
const PATH = "/usr/local/bin:/usr/bin:/bin";

/** Words of a command that name paths outside the sandbox, counted from 1: a usual reason for its end. */
export function unseenWords({ command, args, folders, sandbox }: StdioServer): readonly number[] {
  if (sandbox === "off") return [];
  const seen = [...PROGRAMS, "/proc", "/dev", "/etc", ...folders.keys()];
  const isUnseen = (word: string): boolean =>
    path.isAbsolute(word) && !seen.some((each) => word === each || word.startsWith(`${each}/`)) && existsSync(word);
  return [command, ...args].flatMap((word, at) => (isUnseen(word) ? [at + 1] : []));
}

/** Starts a server. Rejects with an `McpError`. `env` has the values of its secrets. */
export async function startServer(
  server: StdioServer,
  env: ReadonlyMap<string, string>,
  limits: McpLimits,
  find: () => Promise<Jail> = findJail,
): Promise<ServerProcess> {
  if (server.sandbox === "off") return startBare(server, env, limits);
  const jail = await find();
  if ("reason" in jail) {
    throw new McpError(`its command cannot run on this host: ${jail.reason}`, {
      detail:
        "install bubblewrap 0.8 or later on the engine's host, and allow it to create user namespaces; " +
        "or set sandbox: \"off\" in the connector's mcp, which gives the command the rights of the engine's process",
      isSent: false,
    });
  }
  const inside = serverInside(server, env, limits);
  const jailed = await jail.start(inside).catch(() => {
    throw new McpError("its command could not be started", { isSent: false });
  });
  const { stdin, stdout, stderr } = jailed;
  const supervision = new Supervision(jailed, inside.ceilings);
  const ended = supervision.closed.then(
    () => howEnded(supervision, limits),
    () => "its command could not be started",
  );
  return {
    stdin,
    stdout,
    stderr,
    group: null,
    ended,
    close: async () => {
      stdin.end();
      await within(limits.closeMs, ended);
      supervision.kill("call");
      await within(KILL_MS, ended);
    },
  };
}

function howEnded({ killing, exitCode }: Supervision, limits: McpLimits): string {
  const excess: { readonly [Reason in Killing]?: string } = {
    memory: `it was ended: it used more than ${limits.memoryBytes} bytes of memory`,
    processes: `it was ended: it had more than ${limits.processes} processes and threads`,
    files: `it was ended: it made more than ${limits.folderEntries} files`,
  };
  return (killing === null ? undefined : excess[killing]) ?? endedWith(exitCode);
}

function endedWith(exitCode: number | null): string {
  return exitCode === null ? "it was ended" : `it ended with exit code ${exitCode}`;
}

/** Sandbox of a server: all programs of the host, read-only, its own folders, and the granted folders. */
function serverInside(server: StdioServer, env: ReadonlyMap<string, string>, limits: McpLimits): Inside {
  const { command, args, folders, network } = server;
  const { folderBytes, folderEntries, fileBytes, processes, memoryBytes } = limits;
  const given = [...folders].flatMap(([name, { path, mode }]) => [mode === "rw" ? "--bind" : "--ro-bind", path, name]);
  const own = OWN.filter((path) => !folders.has(path));
  // Not on the command line, which processes inside can read: it goes through a pipe.
  const variables = [...env].flatMap(([name, value]) => ["--setenv", name, value]);
  const names = network ? NETWORK.filter((path) => existsSync(path)).flatMap(showFile) : [];
  return {
    program: [SHELL, "-c", `${limitCommands({ fileBytes, processes })}\nexec "$@"`, SHELL, command, ...args],
    walls: [
      ...variables,
      ...readOnly(PROGRAMS),
      ...names,
      ...DEVICES,
      ...own.flatMap((path) => ownFolder(path, folderBytes)),
      ...given,
      ...closedIn(server.cwd ?? "/home"),
    ],
    limits: "",
    mayFork: true,
    sharesNetwork: network,
    ceilings: { tasks: processes, memoryBytes, cpuMs: null, folders: own, folderEntries },
    wallMs: Number.POSITIVE_INFINITY,
    kept: null,
  };
}

/** Shows the target of a link, which may be in a hidden folder. */
function showFile(path: string): readonly string[] {
  return isLink(path) ? ["--ro-bind", path, path] : readOnly([path]);
}

/**
 * Kills the process group when the lifeline closes, as it does at any end of the engine. The background process is in
 * the group as well.
 */
const BARE = `( exec </dev/null >/dev/null 2>&1; read -r _ <&3; kill -9 0 ) &
exec "$@" 3<&-`;

function startBare(
  { command, args, cwd }: StdioServer,
  env: ReadonlyMap<string, string>,
  limits: McpLimits,
): ServerProcess {
  const isWindows = process.platform === "win32";
  const { PATH: programs = PATH, HOME: home } = process.env;
  const variables = {
    PATH: programs,
    ...(home === undefined ? {} : { HOME: home }),
    LANG: "C.UTF-8",
    ...Object.fromEntries(env),
  };
  const words = isWindows ? [command, ...args] : [SHELL, "-c", BARE, SHELL, command, ...args];
  using descriptors = new Descriptors(["pipe", "pipe", "pipe", "pipe"]);
  const child = spawn(words[0] ?? command, words.slice(1), {
    stdio: descriptors.stdio,
    env: variables,
    detached: !isWindows,
    windowsHide: true,
    ...(cwd === null ? {} : { cwd }),
  });
  const ended = endOf(child);
  const [stdin, stdout, stderr, lifeline] = child.stdio as unknown as readonly [Writable, Readable, Readable, Duplex];
  for (const pipe of [stdin, stdout, stderr, lifeline]) pipe?.on("error", () => undefined);
  child.once("exit", () => lifeline?.end());
  return {
    stdin,
    stdout,
    stderr,
    group: child.pid ?? null,
    ended,
    close: async () => {
      stdin.end();
      await within(limits.closeMs, ended);
      // The group outlives its first process, which may have left others behind.
      killGroup(child);
      await within(KILL_MS, ended);
    },
  };
}

async function endOf(child: ChildProcess): Promise<string> {
  return await new Promise((resolve) => {
    child.once("error", () => resolve("its command could not be started"));
    child.once("exit", (code, signal) => {
      // Processes that it left behind may have the pipes open.
      killGroup(child);
      resolve(signal === null ? endedWith(code) : `it was ended by ${signal}`);
    });
  });
}
