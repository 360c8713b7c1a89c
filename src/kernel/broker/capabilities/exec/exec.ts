import PQueue from "p-queue";
import { closedIn, DEVICES, ownFolder, PROGRAMS, readOnly } from "../../../base/os/bubblewrap.ts";
import { limitCommands, SHELL } from "../../../base/os/rlimits.ts";
import { findJail, type Inside, type Jail } from "../../jail/jail.ts";
import { type Ended, runInside } from "../../jail/run.ts";
import { WaitingSlots } from "../waiting-slots.ts";
import { type Capability, CapabilityRefusal, type OpenCall, type OpenCapability } from "../capability.ts";
import { EXEC_LIMITS, type ExecGrant, execGrants, type ExecMount, mergeExecGrants } from "./grants.ts";

/** Replacements for tests. */
export interface ExecOptions {
  readonly findJail?: () => Promise<Jail>;
}

/** Arguments of `exec.run`. */
interface RunRequest {
  readonly command: string;
  readonly timeoutMs?: number;
  readonly stdin?: string;
}

/** Outcome of a command, and the time it was given. */
export interface ExecResult extends Ended {
  /** The requested timeout, or the grant's if that is shorter. */
  readonly timeoutMs: number;
}

const TIMEOUT_MS = 30_000;

/** `exec`: shell commands, each in a sandbox of the operating system. Refuses every command if no sandbox works. */
export function createExec(options: ExecOptions = {}): Capability<ExecGrant> {
  // A command that waits ends with its call, so the wait needs no limit of its own.
  const late = () => new Error("no command ended in time");
  const slots = new WaitingSlots({ max: EXEC_LIMITS.atOnceInAll, reserved: 1, waitMs: null, late });
  const find = options.findJail ?? findJail;
  return {
    name: "exec",
    grants: execGrants,
    methods: {
      run: {
        input: {
          type: "object",
          properties: {
            command: { type: "string" },
            timeoutMs: { type: "number", exclusiveMinimum: 0 },
            stdin: { type: "string" },
          },
          required: ["command"],
          additionalProperties: false,
        },
      },
    },
    open: (call, grants) => new ExecSession(slots, find, call, mergeExecGrants(grants)),
    close: () => slots.idle(),
  };
}

/** The capability as it serves one call. */
class ExecSession implements OpenCapability {
  readonly #slots: WaitingSlots;
  readonly #queue = new PQueue({ concurrency: EXEC_LIMITS.atOnce });
  readonly #findJail: () => Promise<Jail>;
  readonly #call: OpenCall;
  readonly #grant: ExecGrant;

  constructor(slots: WaitingSlots, find: () => Promise<Jail>, call: OpenCall, grant: ExecGrant) {
    this.#slots = slots;
    this.#findJail = find;
    this.#call = call;
    this.#grant = grant;
  }

  invoke(_method: string, args: unknown): Promise<ExecResult> {
    const request = args as RunRequest;
    this.#check("command", request.command, EXEC_LIMITS.commandBytes);
    if (request.command.includes("\0")) throw new TypeError("a command must not contain NUL characters");
    this.#check("stdin", request.stdin ?? "", EXEC_LIMITS.stdinBytes);
    const { signal, tenant } = this.#call;
    return this.#queue.add(() => this.#slots.run(signal, tenant, () => this.#run(request, signal)));
  }

  /** Waits for the call's commands, which its abort signal ends. */
  async close(): Promise<void> {
    await this.#queue.onIdle();
  }

  async #run({ command, timeoutMs = TIMEOUT_MS, stdin = "" }: RunRequest, signal: AbortSignal): Promise<ExecResult> {
    const jail = await this.#findJail();
    if ("reason" in jail) throw this.#noJail(jail.reason);
    const { mounts, outputBytes } = this.#grant;
    const wallMs = Math.min(timeoutMs, this.#grant.wallMs ?? EXEC_LIMITS.wallMs, EXEC_LIMITS.wallMs);
    const { drainedBytes, outputBytesUsual } = EXEC_LIMITS;
    const streams = { stdin, outputBytes: outputBytes ?? outputBytesUsual, drainedBytes };
    const inside = commandInside({ command, wallMs, mounts });
    return { ...(await runInside(jail.start, inside, streams, signal)), timeoutMs: wallMs };
  }

  #check(what: string, text: string, maxBytes: number): void {
    if (Buffer.byteLength(text) <= maxBytes) return;
    throw new CapabilityRefusal("limit", `the ${what} is too long`, {
      asked: `a ${what} of ${Buffer.byteLength(text)} bytes`,
      granted: `a ${what} of at most ${maxBytes} bytes`,
      remedy: what === "command" ? "pass a long script in stdin: sh -s" : "pass it in a file of a mount",
    });
  }

  #noJail(reason: string): CapabilityRefusal {
    return new CapabilityRefusal("denied", `commands cannot run on this host: ${reason}`, {
      asked: "exec.run",
      granted: execGrants.describe(this.#grant),
      remedy: "install bubblewrap 0.8 or later on the engine's host, and allow it to create user namespaces",
    });
  }
}

/** A shell command, its maximum time, and the host's folders that it sees. */
interface SandboxedCommand {
  readonly command: string;
  readonly wallMs: number;
  readonly mounts: ReadonlyMap<string, ExecMount>;
}

const { addressBytes, fileBytes, folderBytes, folderEntries, memoryBytes, processes } = EXEC_LIMITS;
/** In-memory folders of the command, removed with the sandbox. */
const OWN: readonly string[] = ["/home", "/tmp", "/dev/shm"];

/** Sandbox of a command: all programs of the host, read-only, and folders of its own. */
export function commandInside({ command, wallMs, mounts }: SandboxedCommand): Inside {
  const given = [...mounts].flatMap(([name, { path, mode }]) => [mode === "rw" ? "--bind" : "--ro-bind", path, name]);
  const own = OWN.flatMap((path) => ownFolder(path, folderBytes));
  // The system does not limit the number of root's processes. If the host runs as root, the watch does.
  const limits = limitCommands({ cpuSeconds: Math.ceil(wallMs / 1000), fileBytes, addressBytes, processes });
  return {
    program: [SHELL, "-c", `${limits}\nexec ${SHELL} -c -- "$1"`, SHELL, command],
    walls: [...readOnly(PROGRAMS), ...DEVICES, ...own, ...given, ...closedIn("/home")],
    limits: "",
    mayFork: true,
    ceilings: { tasks: processes, memoryBytes, cpuMs: null, folders: OWN, folderEntries },
    wallMs,
    kept: null,
  };
}
