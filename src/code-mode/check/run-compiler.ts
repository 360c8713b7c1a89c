import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { bubblewrapArguments, closedIn, LIBRARIES, readOnly, writeFilter } from "../../base/os/bubblewrap.ts";
import { killGroup } from "../../base/os/process-group.ts";
import { limitCommands, SHELL } from "../../base/os/rlimits.ts";
import { type BuildSandboxState, buildSandbox } from "../../tool/build/sandbox.ts";

/** How a compiler's run ended. */
export type CompilerRun =
  { readonly kind: "done"; readonly output: string } | { readonly kind: "failed"; readonly reason: string };

const WALL_MS = 5_000;
const CPU_SECONDS = 2;
const OUTPUT_MAX = 256 * 1024;
/** Addresses: Go reserves many more than it uses. */
const ADDRESS_BYTES = 2_048 * 1024 * 1024;
/** Memory above which the compiler's collector works more. */
const HEAP = "128MiB";
const FILE_BYTES = 64 * 1024;
/** Where bubblewrap reads its filter. */
const FILTER_FD = 3;
/** Exit codes of the compiler without mistakes and with some. */
const ENDS: ReadonlySet<number | null> = new Set([0, 1, 2]);
const CONFIG = JSON.stringify({
  compilerOptions: {
    noEmit: true,
    strict: false,
    // A member in brackets that is not there is a mistake only with this.
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
 * Compiles a program with declarations in a process of its own, which has nothing of the host but the compiler: no
 * network and no other file where bubblewrap works, and limits of processor time, addresses and output everywhere.
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
  if (sandbox.kind === "off") return [...limited, ...own];
  const shown = [path.dirname(compiler), folder].flatMap((one) => ["--ro-bind", one, one]);
  const view = [...readOnly(LIBRARIES), ...shown, "--proc", "/proc", ...closedIn(folder, ["/proc"])];
  const setup = { filterFd: FILTER_FD, forbidsNamespaces: true };
  return [...limited, sandbox.command, ...bubblewrapArguments(view, setup), "--", ...own];
}

function run([file = "", ...args]: readonly string[], cwd: string, sandbox: BuildSandboxState): Promise<CompilerRun> {
  return new Promise((resolve) => {
    const env = { GOMEMLIMIT: HEAP, GOMAXPROCS: "1" };
    const stdio = ["ignore", "pipe", "ignore", "pipe"] as const;
    const child = spawn(file, args, { cwd, env, stdio: [...stdio], detached: true, windowsHide: true });
    writeFilter(child.stdio[FILTER_FD], sandbox.kind === "bubblewrap" ? sandbox.filter : null);
    let output = "";
    const end = (run: CompilerRun): void => {
      clearTimeout(timer);
      killGroup(child);
      resolve(run);
    };
    const timer = setTimeout(() => end({ kind: "failed", reason: `it took more than ${WALL_MS} ms` }), WALL_MS);
    child.once("error", () => end({ kind: "failed", reason: "the compiler could not be started" }));
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.length > OUTPUT_MAX) end({ kind: "failed", reason: "the compiler wrote too much" });
    });
    child.once("close", (code, signal) => {
      // The compiler says what is wrong; a sandbox that does not work says nothing here.
      if (ENDS.has(code) && (code === 0) === (output === "")) return end({ kind: "done", output });
      end({ kind: "failed", reason: `the compiler ended with ${signal ?? `exit code ${code}`}, beyond its limits` });
    });
  });
}
