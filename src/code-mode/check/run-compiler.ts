import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { Readable } from "node:stream";
import path from "node:path";
import { bubblewrapArguments, closedIn, LIBRARIES, readOnly, writeFilter } from "../../kernel/base/os/bubblewrap.ts";
import { killGroup } from "../../kernel/base/os/process-group.ts";
import { limitCommands, SHELL } from "../../kernel/base/os/rlimits.ts";
import { type BuildSandboxState, buildSandbox } from "../../kernel/tool/build/sandbox.ts";

/** The end of a compiler's run. */
type CompilerEnd =
  { readonly kind: "done"; readonly output: string } | { readonly kind: "failed"; readonly reason: string };

/** A run of a compiler: its end, and the processor time of its processes, in milliseconds. */
export type CompilerRun = CompilerEnd & { readonly cpuMs: number };

/** Five times the processor time: on a busy machine a check is late, and no reason to leave it out. */
const WALL_MS = 10_000;
const CPU_SECONDS = 2;
const OUTPUT_MAX = 256 * 1024;
/** Addresses: Go reserves many more than it uses. */
const ADDRESS_BYTES = 2_048 * 1024 * 1024;
/** Memory above which the compiler's collector works more. */
const HEAP = "128MiB";
const FILE_BYTES = 64 * 1024;
/** Descriptors from which bubblewrap reads its filter, and to which the shell writes times. */
const FILTER_FD = 3;
const TIMES_FD = 4;
/** Times of the shell and of its children, each of the user and the system: `0m0.030000s 0m0.010000s`. */
const TIMES = /(\d+)m([\d.]+)s/g;
/** Runs a command and writes its times. */
const TIMED = `"$@" ${TIMES_FD}>&-\ncode=$?\ntimes >&${TIMES_FD}\nexit $code`;
/** Exit codes of the compiler without mistakes and with some. */
const ENDS: ReadonlySet<number | null> = new Set([0, 1, 2]);
const CONFIG = JSON.stringify({
  compilerOptions: {
    noEmit: true,
    strict: false,
    // Only with this, a missing member in brackets is a mistake.
    noImplicitAny: true,
    target: "esnext",
    lib: ["esnext"],
    types: [],
    // Neither references nor imports of types read files of the host.
    noResolve: true,
    moduleDetection: "legacy",
    skipLibCheck: true,
  },
  files: ["tools.d.ts", "program.ts"],
});

/**
 * Compiles a program with declarations in a process of its own, which has only the compiler of the host: no network and
 * no other file if bubblewrap works, and limits of processor time, addresses and output everywhere.
 */
export async function runCompiler(compiler: string, program: string, declarations: string): Promise<CompilerRun> {
  const folder = await mkdtemp(path.join(tmpdir(), "glovebox-check-"));
  try {
    const files = { "tsconfig.json": CONFIG, "tools.d.ts": declarations, "program.ts": program };
    await Promise.all(Object.entries(files).map(([name, text]) => writeFile(path.join(folder, name), text)));
    // A build process has shown just before whether the sandbox works here.
    const sandbox = buildSandbox();
    return await run(commandFor(compiler, folder, sandbox), folder, sandbox);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function commandFor(compiler: string, folder: string, sandbox: BuildSandboxState): readonly string[] {
  const own = [compiler, "-p", folder, "--pretty", "false"];
  if (process.platform !== "linux" || !existsSync(SHELL)) return own;
  const limits = limitCommands({ cpuSeconds: CPU_SECONDS, fileBytes: FILE_BYTES, addressBytes: ADDRESS_BYTES });
  const limited = [SHELL, "-c", `${limits}\nexec "$@"`, SHELL];
  // Times of another namespace's processes do not leave it.
  const timed = [SHELL, "-c", TIMED, SHELL, ...own];
  if (sandbox.kind === "off") return [...limited, ...timed];
  const shown = [path.dirname(compiler), folder, SHELL].flatMap((one) => ["--ro-bind", one, one]);
  const view = [...readOnly(LIBRARIES), ...shown, "--proc", "/proc", ...closedIn(folder, ["/proc"])];
  const setup = { filterFd: FILTER_FD, forbidsNamespaces: true };
  return [...limited, sandbox.command, ...bubblewrapArguments(view, setup), "--", ...timed];
}

function run([file = "", ...args]: readonly string[], cwd: string, sandbox: BuildSandboxState): Promise<CompilerRun> {
  return new Promise((resolve) => {
    const env = { GOMEMLIMIT: HEAP, GOMAXPROCS: "1" };
    const stdio = ["ignore", "pipe", "ignore", "pipe", "pipe"] as const;
    const startMs = performance.now();
    const child = spawn(file, args, { cwd, env, stdio: [...stdio], detached: true, windowsHide: true });
    writeFilter(child.stdio[FILTER_FD], sandbox.kind === "bubblewrap" ? sandbox.filter : null);
    let [output, times] = ["", ""];
    const end = (run: CompilerEnd): void => {
      clearTimeout(timer);
      killGroup(child);
      // A killed process has not reported its usage.
      const mostMs = Math.min(performance.now() - startMs, CPU_SECONDS * 1_000);
      resolve({ ...run, cpuMs: timesOf(times) ?? mostMs });
    };
    const timer = setTimeout(() => end({ kind: "failed", reason: `it took more than ${WALL_MS} ms` }), WALL_MS);
    child.once("error", () => end({ kind: "failed", reason: "the compiler could not be started" }));
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.length > OUTPUT_MAX) end({ kind: "failed", reason: "the compiler wrote too much" });
    });
    const told = child.stdio[TIMES_FD];
    if (told instanceof Readable) told.setEncoding("utf8").on("data", (text: string) => (times += text));
    child.once("close", (code, signal) => {
      // The compiler describes the mistakes; a failed sandbox prints nothing here.
      if (ENDS.has(code) && (code === 0) === (output === "")) return end({ kind: "done", output });
      end({ kind: "failed", reason: `the compiler ended with ${signal ?? `exit code ${code}`}, beyond its limits` });
    });
  });
}

/** The times that a shell wrote, in milliseconds; `null` if it wrote none. */
function timesOf(text: string): number | null {
  const found = [...text.matchAll(TIMES)];
  if (found.length === 0) return null;
  return found.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1_000, 0);
}
