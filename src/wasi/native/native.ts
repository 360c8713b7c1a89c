import { errnoOf } from "../../kernel/base/errno.ts";
import { constants as FILE } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { constants as SYSTEM } from "node:os";
import { join } from "node:path";
import { closedIn, DEVICES_OF_ONE, LIBRARIES, ownFolder, readOnly } from "../../kernel/base/os/bubblewrap.ts";
import { limitCommands } from "../../kernel/base/os/rlimits.ts";
import { findJail, type Inside, type Jail } from "../../kernel/broker/jail/jail.ts";
import { type Ended, runForFolder } from "../../kernel/broker/jail/run.ts";
import {
  type CallBinary,
  type Capability,
  CapabilityRefusal,
  LimitReached,
  type OpenCall,
} from "../../kernel/broker/capabilities/capability.ts";
import { WaitingSlots } from "../../kernel/broker/capabilities/waiting-slots.ts";
import type { OpenModule } from "../../kernel/broker/capabilities/module-capability.ts";
import { NATIVE, NATIVE_LIMITS, nativeGrants } from "./methods.ts";

/** Replacements for tests. */
export interface NativeOptions {
  readonly findJail?: () => Promise<Jail>;
}

/** Outcome of a binary's run, in the shape that the guest's engine reads. */
interface BinaryRun {
  readonly exitCode: number | null;
  readonly ended: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly output: string | null;
}

const SAID_SHOWN = 500;

/** For the broker's thread, which imports this module. */
export const open: OpenModule = () => ({ capability: createNative() as Capability });

/** `native`: refuses every run if no sandbox works. */
export function createNative(options: NativeOptions = {}): Capability<true> {
  // A run that waits ends with its call, so the wait needs no limit of its own.
  const late = () => new Error("no binary ended in time");
  const slots = new WaitingSlots({ max: NATIVE_LIMITS.atOnce, reserved: NATIVE_LIMITS.reserved, waitMs: null, late });
  const find = options.findJail ?? findJail;
  const { name, grants, methods } = NATIVE;
  return {
    name,
    grants,
    methods,
    open: (call) => ({
      invoke: (_method, args) => {
        const { argument } = args as { readonly argument: string };
        const binary = binaryOf(call);
        checkArgument(argument);
        return slots.run(call.signal, call.tenant, () => run(find, binary, argument, call.signal));
      },
    }),
    close: () => slots.idle(),
  };
}

function binaryOf({ binary, tool }: OpenCall): CallBinary {
  if (binary !== undefined) return binary;
  throw new CapabilityRefusal("denied", `tool "${tool}" has no binary`, {
    asked: "native.run",
    granted: "nothing: only a tool with the runtime native has a binary",
    remedy: 'register the binary as a tool of its own, with the runtime "native"',
  });
}

/** Checks the argument, because the system's own error for a long one is unclear. */
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
  find: () => Promise<Jail>,
  binary: CallBinary,
  argument: string,
  signal: AbortSignal,
): Promise<BinaryRun> {
  const jail = await find();
  if ("reason" in jail) throw noJail(jail.reason);
  const inside = binaryInside(binary.file, argument, binary.limits);
  const streams = { stdin: "", outputBytes: NATIVE_LIMITS.saidBytes, drainedBytes: NATIVE_LIMITS.drainedBytes };
  const { outputBytes } = binary.limits;
  const ended = await runForFolder(jail.start, inside, streams, signal, (folder) =>
    readOutputFile(folder, outputBytes),
  );
  return answerOf(ended, ended.left, binary.limits);
}

function answerOf(ended: Ended, left: OutputFile | null, limits: CallBinary["limits"]): BinaryRun {
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
      throw new LimitReached(
        "cpu_limit",
        `the binary used more than ${limits.cpuMs} ms of processor time (limits.cpuMs)${said}`,
      );
    case "memory":
      throw new LimitReached(
        "memory_limit",
        `the binary used more than ${limits.memoryMb} MiB of memory (limits.memoryMb)${said}`,
      );
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
  if (ended.timedOut) return answer(`was ended: it took longer than ${limits.wallMs} ms (limits.wallMs)`, null);
  switch (left?.kind) {
    case undefined:
    case "nothing":
      return answer(null, null);
    case "text":
      return answer(null, left.text);
    case "odd":
      return { ...answer("wrote its output to something that is not a file", null), exitCode: null };
    case "large": {
      const sizes = `an output file of ${left.bytes} bytes, the limit is ${limits.outputBytes} bytes (limits.outputBytes)`;
      throw new LimitReached("output_too_large", `the binary wrote ${sizes}${said}`);
    }
  }
}

/** Describes an exit code as shells define it: 128 plus the number of the signal that ended the program. */
function howEnded(exitCode: number): string {
  const signal = Object.entries(SYSTEM.signals).find(([, number]) => exitCode === 128 + number)?.[0];
  return `ended with exit code ${exitCode}${signal === undefined ? "" : ` (${signal})`}`;
}

function shown(text: string): string {
  const trimmed = text.trim();
  return trimmed === "" ? "nothing" : trimmed.slice(0, SAID_SHOWN);
}

function noJail(reason: string): CapabilityRefusal {
  return new CapabilityRefusal("denied", `binaries cannot run on this host: ${reason}`, {
    asked: "native.run",
    granted: nativeGrants.describe(true),
    remedy: "install bubblewrap 0.8 or later on the engine's host, and allow it to create user namespaces",
  });
}

/** Paths inside the sandbox. */
const PROGRAM = "/tool/binary";
const FOLDER = "/call";
const OUTPUT = "output.json";

const MIB = 1024 * 1024;
/** The main thread's stack is not part of the limit on data. */
const STACK_BYTES = 64 * MIB;
const { addressBytes, folderBytes, folderEntries, openFiles, spareBytes, threads } = NATIVE_LIMITS;

/**
 * Sandbox of a binary: its own file and the system's libraries, read-only, and one writable folder, which is its
 * working directory. Its environment has only the variable `PWD`.
 */
function binaryInside(
  file: string,
  argument: string,
  limits: CallBinary["limits"],
): Inside & { readonly kept: string } {
  const memoryBytes = limits.memoryMb * MIB;
  const itself = ["--clearenv", "--ro-bind", file, PROGRAM];
  const temporary = ["--symlink", FOLDER.slice(1), "/tmp"];
  return {
    program: [PROGRAM, argument, join(FOLDER, OUTPUT)],
    walls: [
      ...itself,
      ...readOnly(LIBRARIES),
      ...DEVICES_OF_ONE,
      ...ownFolder(FOLDER, folderBytes),
      ...temporary,
      ...closedIn(FOLDER),
    ],
    // The watch kills a binary that exceeds its processor time or memory, and reports which. These limits apply if it
    // is late.
    limits: limitCommands({
      cpuSeconds: Math.ceil(limits.cpuMs / 1_000) + 1,
      fileBytes: folderBytes,
      openFiles,
      dataBytes: memoryBytes + spareBytes,
      addressBytes: memoryBytes + addressBytes,
      stackBytes: STACK_BYTES,
    }),
    mayFork: false,
    ceilings: { tasks: threads, memoryBytes, cpuMs: limits.cpuMs, folders: [FOLDER], folderEntries },
    wallMs: limits.wallMs,
    kept: FOLDER,
  };
}

/** State of the file to which a binary writes its result. */
type OutputFile =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "nothing" }
  /** Not a regular file. */
  | { readonly kind: "odd" }
  | { readonly kind: "large"; readonly bytes: number };

/** Reads the result from the kept folder, after the binary has ended. */
async function readOutputFile(folder: string, maxBytes: number): Promise<OutputFile> {
  let handle;
  try {
    // Neither follow a link, nor wait for the writer of a pipe.
    handle = await openFile(join(folder, OUTPUT), FILE.O_RDONLY | FILE.O_NOFOLLOW | FILE.O_NONBLOCK);
  } catch (error) {
    return { kind: errnoOf(error) === "ENOENT" ? "nothing" : "odd" };
  }
  await using owned = handle;
  const found = await owned.stat();
  if (!found.isFile()) return { kind: "odd" };
  if (found.size > maxBytes) return { kind: "large", bytes: found.size };
  return { kind: "text", text: await owned.readFile("utf8") };
}
