import PQueue from "p-queue";
import { type Capability, CapabilityRefusal, type OpenCall, type OpenCapability } from "../capability.ts";
import { findJail, type Jail } from "../../jail/jail.ts";
import { type Ended, runInside } from "../../jail/run.ts";
import { commandInside } from "./command.ts";
import { type ExecGrant, execGrants, mergeExecGrants } from "./grants.ts";
import { EXEC_LIMITS } from "./limits.ts";

/** What may be other than usual, for tests. */
export interface ExecOptions {
  readonly findJail?: () => Promise<Jail>;
}

/** What a tool asks for. */
interface RunRequest {
  readonly command: string;
  readonly timeoutMs?: number;
  readonly stdin?: string;
}

/** How a command ended, and in what time it had to. */
export interface ExecAnswer extends Ended {
  /** What was asked for, or less where the grant gives less. */
  readonly timeoutMs: number;
}

const TIMEOUT_MS = 30_000;

/** `exec`: commands of a shell, each in a sandbox of the operating system's; where there is none, there are no commands. */
export function createExec(options: ExecOptions = {}): Capability<ExecGrant> {
  const queue = new PQueue({ concurrency: EXEC_LIMITS.atOnceInAll });
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
    open: (call, grants) => new OpenExec(queue, find, call, mergeExecGrants(grants)),
    close: () => queue.onIdle(),
  };
}

/** The capability as it serves one call. */
class OpenExec implements OpenCapability {
  readonly #host: PQueue;
  readonly #queue = new PQueue({ concurrency: EXEC_LIMITS.atOnce });
  readonly #findJail: () => Promise<Jail>;
  readonly #call: OpenCall;
  readonly #grant: ExecGrant;

  constructor(host: PQueue, find: () => Promise<Jail>, call: OpenCall, grant: ExecGrant) {
    this.#host = host;
    this.#findJail = find;
    this.#call = call;
    this.#grant = grant;
  }

  invoke(_method: string, args: unknown): Promise<ExecAnswer> {
    const request = args as RunRequest;
    this.#check("command", request.command, EXEC_LIMITS.commandBytes);
    if (request.command.includes("\0")) throw new TypeError("a command has no NUL characters");
    this.#check("stdin", request.stdin ?? "", EXEC_LIMITS.stdinBytes);
    return this.#queue.add(() => this.#host.add(() => this.#run(request)));
  }

  /** The call has ended, and so end its commands. */
  async close(): Promise<void> {
    await this.#queue.onIdle();
  }

  async #run({ command, timeoutMs = TIMEOUT_MS, stdin = "" }: RunRequest): Promise<ExecAnswer> {
    const { signal } = this.#call;
    signal.throwIfAborted();
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
      remedy: what === "command" ? "give a long script in stdin: sh -s" : "give it in a file of a mount",
    });
  }

  #noJail(reason: string): CapabilityRefusal {
    return new CapabilityRefusal("denied", `commands cannot be run here: ${reason}`, {
      asked: "exec.run",
      granted: execGrants.describe(this.#grant),
      remedy: "install bubblewrap 0.8 or later where the engine runs, and let it make user namespaces",
    });
  }
}
