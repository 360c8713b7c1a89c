import { constants } from "node:os";
import PQueue from "p-queue";
import {
  type CallBinary,
  type Capability,
  CapabilityRefusal,
  type GrantKind,
  LimitReached,
  type OpenCall,
} from "../capability.ts";
import { findJail, type Jail } from "../../jail/jail.ts";
import { type Ended, runForFolder } from "../../jail/run.ts";
import type { Binaries, HeldBinary } from "./binaries.ts";
import { NATIVE_LIMITS } from "./limits.ts";
import { type Answer, binaryInside, readAnswer } from "./program.ts";

/** What may be other than usual, for tests. */
export interface NativeOptions {
  readonly findJail?: () => Promise<Jail>;
}

/** What a binary answered: the shape that the guest's engine reads. */
interface BinaryRun {
  readonly exitCode: number | null;
  readonly ended: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly output: string | null;
}

const SAID_SHOWN = 500;

/** There is nothing to say of it but that it is allowed: how much a run may do, the call's limits say. */
const nativeGrants: GrantKind<true> = {
  read(value) {
    if (value === true) return true;
    throw new TypeError(": is true; what a binary may use, the limits of its tool say");
  },
  meet: () => true,
  uncovered: (_asked, granted) => (granted.length === 0 ? [{ pointer: "", asked: "the capability" }] : []),
  describe: () => "its binary, in a sandbox of the operating system's",
};

/** `native`: runs the binary of a tool that is one, in a sandbox of the operating system's; where there is none, it does not run. */
export function createNative(binaries: Binaries, options: NativeOptions = {}): Capability<true> {
  const queue = new PQueue({ concurrency: NATIVE_LIMITS.atOnce });
  const find = options.findJail ?? findJail;
  return {
    name: "native",
    grants: nativeGrants,
    methods: {
      run: {
        input: {
          type: "object",
          properties: { argument: { type: "string" } },
          required: ["argument"],
          additionalProperties: false,
        },
      },
    },
    open: (call) => ({
      invoke: (_method, args) => {
        const { argument } = args as { readonly argument: string };
        const binary = binaryOf(call);
        checkArgument(argument);
        return queue.add(() => run(binaries, find, binary, argument, call.signal));
      },
    }),
    close: async () => {
      await queue.onIdle();
      await binaries.close();
    },
  };
}

function binaryOf({ binary, tool }: OpenCall): CallBinary {
  if (binary !== undefined) return binary;
  throw new CapabilityRefusal("denied", `tool "${tool}" has no binary`, {
    asked: "native.run",
    granted: "nothing: only a tool of the runtime native has a binary",
    remedy: 'register the binary as a tool of its own, with the runtime "native"',
  });
}

/** The system would refuse to start it, and say nothing that helps. */
function checkArgument(argument: string): void {
  const bytes = Buffer.byteLength(argument);
  if (bytes <= NATIVE_LIMITS.argumentBytes && !argument.includes("\0")) return;
  throw new LimitReached(
    "input_too_large",
    `a binary is given what it is called with as one argument, of which the system takes ${NATIVE_LIMITS.argumentBytes} bytes, ` +
      `and this one has ${bytes}; call it with less`,
  );
}

async function run(
  binaries: Binaries,
  find: () => Promise<Jail>,
  binary: CallBinary,
  argument: string,
  signal: AbortSignal,
): Promise<BinaryRun> {
  signal.throwIfAborted();
  const jail = await find();
  if ("reason" in jail) throw noJail(jail.reason);
  using held: HeldBinary = binaries.hold(binary.hash);
  const inside = binaryInside(held.path, argument, binary.limits);
  const streams = { stdin: "", outputBytes: NATIVE_LIMITS.saidBytes, drainedBytes: NATIVE_LIMITS.drainedBytes };
  const { outputBytes } = binary.limits;
  const ended = await runForFolder(jail.start, inside, streams, signal, (folder) => readAnswer(folder, outputBytes));
  return answerOf(ended, ended.left, binary.limits);
}

function answerOf(ended: Ended, left: Answer | null, limits: CallBinary["limits"]): BinaryRun {
  const { exitCode, stdout, stderr } = ended;
  const said = `; stderr: ${shown(stderr)}; stdout: ${shown(stdout)}`;
  const answer = (why: string | null, output: string | null): BinaryRun => ({
    exitCode,
    ended: why,
    stdout,
    stderr,
    output,
  });
  switch (ended.excess) {
    case "cpu":
      throw new LimitReached("cpu_limit", `the binary used more than ${limits.cpuMs} ms of processor time${said}`);
    case "memory":
      throw new LimitReached("memory_limit", `the binary used more than ${limits.memoryMb} MiB of memory${said}`);
    case "processes":
      return answer(`was ended: it had more than ${NATIVE_LIMITS.threads} threads`, null);
    case "files":
      return answer(`was ended: it made more than ${NATIVE_LIMITS.folderEntries} files`, null);
    case "output":
      return answer(`was ended: it wrote more than ${NATIVE_LIMITS.drainedBytes} bytes to stdout and stderr`, null);
    case null:
      break;
    default:
      return ended.excess satisfies never;
  }
  if (exitCode !== null && exitCode !== 0) return answer(howEnded(exitCode), left?.kind === "text" ? left.text : null);
  if (ended.timedOut) return answer(`was ended: it took longer than ${limits.wallMs} ms`, null);
  switch (left?.kind) {
    case undefined:
    case "nothing":
      return answer(null, null);
    case "text":
      return answer(null, left.text);
    case "odd":
      return { ...answer("left something else than a file where its output was to be", null), exitCode: null };
    case "large": {
      const sizes = `an output file of ${left.bytes} bytes, the limit is ${limits.outputBytes} bytes`;
      throw new LimitReached("output_too_large", `the binary wrote ${sizes}${said}`);
    }
  }
}

/** As a shell tells it: a program that a signal ends has 128 and its number. */
function howEnded(exitCode: number): string {
  const signal = Object.entries(constants.signals).find(([, number]) => exitCode === 128 + number)?.[0];
  return `ended with exit code ${exitCode}${signal === undefined ? "" : ` (${signal})`}`;
}

function shown(text: string): string {
  const trimmed = text.trim();
  return trimmed === "" ? "nothing" : trimmed.slice(0, SAID_SHOWN);
}

function noJail(reason: string): CapabilityRefusal {
  return new CapabilityRefusal("denied", `binaries cannot be run here: ${reason}`, {
    asked: "native.run",
    granted: nativeGrants.describe(true),
    remedy: "install bubblewrap 0.8 or later where the engine runs, and let it make user namespaces",
  });
}
