import { ChildProcess, spawn } from "node:child_process";
import { connect, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { type MessagePort, Worker } from "node:worker_threads";
import { Descriptors } from "../../base/os/descriptors.ts";
import type { FromThread, ThreadSettings, ToThread } from "./messages.ts";

/** Place of `fetch`, `fs`, `exec`, `native` and connectors: a thread of this process, or a process of their own. */
export type BrokerPlace = "thread" | "process";
export const BROKER_PLACES: readonly BrokerPlace[] = ["thread", "process"];

/** A thread or process that serves messages. */
export interface StartedServer {
  /** `ports`: those in the messages. A thread gets them; a process cannot. */
  post(messages: readonly ToThread[], ports?: readonly MessagePort[]): void;
  /** Connects with the name on which it listens. The connection is there as soon as this returns. */
  connect(path: string): Socket;
  /** Ends it at once. Resolves when it has ended. */
  terminate(): Promise<unknown>;
}

export interface ServerListener {
  readonly onMessages: (messages: readonly FromThread[]) => void;
  /** Called when it has ended, by itself or by `terminate`. May be called more than once. */
  readonly onEnd: (error: Error) => void;
}

/** Heap, in MiB. Arguments are bounded before they are parsed, so that no single value can reach it. */
const HEAP_MB = 1_024;
/** Variables that a process inherits: those for programs, certificates and the folder of scratch files. */
const INHERITED = [
  "PATH",
  "TMPDIR",
  "TZ",
  "NODE_EXTRA_CA_CERTS",
  "NODE_USE_SYSTEM_CA",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
];

export type StartServer = (place: BrokerPlace, settings: ThreadSettings, listener: ServerListener) => StartedServer;

export function startServer(place: BrokerPlace, settings: ThreadSettings, listener: ServerListener): StartedServer {
  const server = place === "thread" ? startThread(listener) : startProcess(listener);
  server.postSettings(settings);
  return server;
}

interface UnsetServer extends StartedServer {
  /** The first message. */
  postSettings(settings: ThreadSettings): void;
}

function entry(): URL {
  return new URL(`./entry.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);
}

function startThread({ onMessages, onEnd }: ServerListener): UnsetServer {
  const worker = new Worker(entry(), {
    name: "glovebox-broker",
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    // Pipes that are opened by name become sockets, which close their numbers: Node must not close those once more.
    trackUnmanagedFds: false,
  });
  worker.on("message", onMessages);
  worker.on("error", (error) => onEnd(error instanceof Error ? error : new Error(String(error))));
  worker.on("exit", (code) => onEnd(new Error(`it ended with exit code ${code}`)));
  return {
    postSettings: (settings) => worker.postMessage(settings),
    post: (messages, ports = []) => worker.postMessage(messages, [...ports]),
    connect,
    terminate: () => worker.terminate(),
  };
}

function startProcess({ onMessages, onEnd }: ServerListener): UnsetServer {
  const child = spawnServer();
  const ended = Promise.withResolvers<void>();
  const end = (error: Error): void => {
    ended.resolve();
    onEnd(error);
  };
  child.on("message", (messages) => onMessages(messages as unknown as readonly FromThread[]));
  child.once("error", end);
  child.once("exit", (code, signal) => end(new Error(`it ended with ${signal ?? `exit code ${code}`}`)));
  const send = (message: object): void => {
    if (child.connected) child.send(message, () => undefined);
  };
  return {
    postSettings: send,
    post: (messages) => send(messages),
    connect,
    terminate: () => {
      child.kill("SIGKILL");
      return ended.promise;
    },
  };
}

/** A failure to start becomes the process's `error`, as Node reports some of them itself. */
function spawnServer(): ChildProcess {
  try {
    using descriptors = new Descriptors(["ignore", "ignore", "ignore", "ipc"]);
    const flags = ["--no-warnings", `--max-old-space-size=${HEAP_MB}`];
    return spawn(process.execPath, [...flags, fileURLToPath(entry())], {
      stdio: descriptors.stdio,
      env: Object.fromEntries(INHERITED.map((name) => [name, process.env[name]])),
      serialization: "advanced",
      windowsHide: true,
    });
  } catch (error) {
    const failed = new ChildProcess();
    process.nextTick(() => failed.emit("error", error));
    return failed;
  }
}
