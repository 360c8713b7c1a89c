import { execFileSync, type ExecFileSyncOptions } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** What the compiler says of a mistake is printed: then no test runs. */
const BUILD: ExecFileSyncOptions = { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] };

/** What each step writes last: one that was stopped in its midst is done again. */
const LAST = {
  compiled: "compiled/THIRD_PARTY_LICENSES",
  published: "dist/glovebox/index.d.ts",
  built: "built/imported.json",
} as const;

/** Compiles the package before the tests where its sources are newer, and then writes what is published and what tests load. */
export default function setup(): void {
  if (newestMs("src") > writtenMs(LAST.compiled)) execFileSync("npm", ["run", "--silent", "compile"], BUILD);
  const compiledMs = writtenMs(LAST.compiled);
  if (compiledMs > writtenMs(LAST.published)) publish();
  if (compiledMs > writtenMs(LAST.built)) publish("built", "--programs");
}

function publish(...args: readonly string[]): void {
  execFileSync(process.execPath, ["--no-warnings", "build/publish.ts", ...args], BUILD);
}

/** When the newest file of a folder was written. */
function newestMs(folder: string): number {
  const entries = readdirSync(`${ROOT}${folder}`, { recursive: true, withFileTypes: true });
  return Math.max(...entries.map((entry) => statSync(`${entry.parentPath}/${entry.name}`).mtimeMs));
}

/** 0 where there is no such file. */
function writtenMs(file: string): number {
  return statSync(ROOT + file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
