/** Temporary folders in which `glovebox` is installed as npm installs it: packed, with its dependencies from the registry. */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { ROOT } from "./linked-folder.ts";

/** Files from which `npm pack` builds the package. */
const SOURCES = [...manifest.files, "package.json", "src", "tsconfig.json"].filter((name) => !name.startsWith("!"));
const INSTALL = ["install", "--no-audit", "--no-fund", "--prefer-offline"];
const TIMEOUT_MS = 240_000;
/** Variables of npm and of the test runner, which would change what npm and Next do. */
const OWN =
  /^(?:npm_(?:package|lifecycle|command|execpath|node_execpath|config_local_prefix)|NODE_ENV$|NODE_OPTIONS$|VITEST)/;

/** The package as it would be published, in a file. */
export interface Packed extends AsyncDisposable {
  readonly file: string;
}

/** Builds and packs the package in a folder of its own: other tests read `dist`. */
export async function pack(): Promise<Packed> {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-packed-"));
  for (const name of SOURCES) {
    if (name !== "dist") cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await npm(folder, ["pack"]);
  const file = join(folder, `${manifest.name}-${manifest.version}.tgz`);
  return { file, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

export interface InstalledFolder extends AsyncDisposable {
  readonly path: string;
  /** Runs a program, and answers with what it prints. Rejects with everything it said where it fails. */
  run(file: string, args: readonly string[]): Promise<string>;
}

/** Copies a folder, and installs the packages of its manifest, with the packed one in the place of `glovebox`. */
export async function installedFolder(copied: string, packed: Packed): Promise<InstalledFolder> {
  const path = mkdtempSync(join(tmpdir(), "glovebox-installed-"));
  cpSync(copied, path, { recursive: true, filter: (name) => !/\/(?:node_modules|\.next)$/.test(name) });
  const file = join(path, "package.json");
  const own = JSON.parse(readFileSync(file, "utf8")) as { dependencies: Record<string, string> };
  own.dependencies["glovebox"] = `file:${packed.file}`;
  writeFileSync(file, JSON.stringify(own));
  await npm(path, INSTALL);
  return {
    path,
    run: (program, args) => run(path, program, args),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

async function npm(cwd: string, args: readonly string[]): Promise<void> {
  await run(cwd, "npm", args);
}

function run(cwd: string, file: string, args: readonly string[]): Promise<string> {
  const inherited = Object.entries(process.env).filter(([name]) => !OWN.test(name));
  const PATH = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
  const env = { ...Object.fromEntries(inherited), PATH };
  return new Promise((resolve, reject) => {
    // A group of its own, so that nothing of it stays where it takes too long.
    const child = spawn(file, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      killGroup(child.pid);
    }, TIMEOUT_MS);
    let printed = "";
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    child.once("error", reject);
    // What it has started may hold its output open.
    child.once("exit", (code) => {
      if (code !== 0) killGroup(child.pid);
    });
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      const end = isLate ? `its output open after ${TIMEOUT_MS} ms` : (signal ?? code);
      if (end === 0) resolve(printed);
      else reject(new Error(`${file} ${args.join(" ")} ended with ${end}:\n${said}${printed}`));
    });
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing of it is left.
  }
}
