/** Temporary folders in which `glovebox` is installed as npm installs it: packed, with its dependencies from the registry. */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { ROOT } from "./linked-folder.ts";

const INSTALL = ["install", "--no-audit", "--no-fund", "--prefer-offline"];
const TIMEOUT_MS = 600_000;
/** What the package makes at its first use is not there yet, as for whoever has just installed it. */
const CACHE = mkdtempSync(join(tmpdir(), "glovebox-first-use-"));
process.once("exit", () => rmSync(CACHE, { recursive: true, force: true }));
/** Variables of npm and of the test runner, which would change what npm and Next do. */
const OWN =
  /^(?:npm_(?:package|lifecycle|command|execpath|node_execpath|config_local_prefix)|NODE_ENV$|NODE_OPTIONS$|VITEST)/;

/** The package as it would be published, in a file. */
export interface Packed extends AsyncDisposable {
  readonly file: string;
}

/** Packs what is built: a run of tests builds first. */
export async function pack(): Promise<Packed> {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-packed-"));
  await npm(ROOT, ["pack", "--ignore-scripts", "--pack-destination", folder]);
  const file = join(folder, `${manifest.name}-${manifest.version}.tgz`);
  return { file, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

export interface InstalledFolder extends AsyncDisposable {
  /** The copy of a folder, by its name. */
  folderOf(name: string): string;
}

/**
 * Copies folders beside each other, and installs the packages of their manifests at once, as a workspace, with the
 * packed one in the place of `glovebox`.
 */
export async function installedFolders(copied: readonly string[], packed: Packed): Promise<InstalledFolder> {
  const path = mkdtempSync(join(tmpdir(), "glovebox-installed-"));
  // One alone is the root itself, as its user has it.
  const isAlone = copied.length === 1;
  if (!isAlone) writeFileSync(join(path, "package.json"), JSON.stringify({ private: true, workspaces: ["*"] }));
  for (const folder of copied) {
    const own = isAlone ? path : join(path, basename(folder));
    cpSync(folder, own, { recursive: true, filter: (name) => !/\/(?:node_modules|\.next)$/.test(name) });
    const file = join(own, "package.json");
    const content = JSON.parse(readFileSync(file, "utf8")) as { dependencies: Record<string, string> };
    content.dependencies["glovebox"] = `file:${packed.file}`;
    writeFileSync(file, JSON.stringify(content));
  }
  await npm(path, INSTALL);
  return {
    folderOf: (name) => (isAlone ? path : join(path, name)),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** An empty folder in which the commands of a page make a project, with the packed package in the place of `glovebox`. */
export async function projectFolder(commands: string, packed: Packed): Promise<InstalledFolder> {
  const path = mkdtempSync(join(tmpdir(), "glovebox-project-"));
  const [, ...flags] = INSTALL;
  await run(path, "sh", ["-c", commands.replace(/ install glovebox$/, ` install ${flags.join(" ")} ${packed.file}`)]);
  return { folderOf: () => path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

async function npm(cwd: string, args: readonly string[]): Promise<void> {
  await run(cwd, "npm", args);
}

/** Runs a program in a folder, and answers with what it prints. Rejects with everything it said where it fails. */
export function run(cwd: string, file: string, args: readonly string[]): Promise<string> {
  const inherited = Object.entries(process.env).filter(([name]) => !OWN.test(name));
  const PATH = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
  const env = { ...Object.fromEntries(inherited), PATH, XDG_CACHE_HOME: CACHE };
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
