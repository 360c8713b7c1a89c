import { execFileSync, type ExecFileSyncOptions } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** What the compiler says of a mistake is printed: then no test runs. */
const BUILD: ExecFileSyncOptions = { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] };

/** Compiles the package before the tests where its sources are newer, and then writes what is published and what tests load. */
export default function setup(): void {
  if (newestMs("src") > newestMs("compiled")) execFileSync("npm", ["run", "--silent", "compile"], BUILD);
  const compiledMs = newestMs("compiled");
  if (compiledMs > newestMs("dist")) publish();
  if (compiledMs > newestMs("built")) publish("built", "--programs");
}

function publish(...args: readonly string[]): void {
  execFileSync(process.execPath, ["--no-warnings", "build/publish.ts", ...args], BUILD);
}

/** When the newest file of a folder was written; 0 without such a folder. */
function newestMs(folder: string): number {
  try {
    const entries = readdirSync(`${ROOT}${folder}`, { recursive: true, withFileTypes: true });
    return Math.max(...entries.map((entry) => statSync(`${entry.parentPath}/${entry.name}`).mtimeMs));
  } catch {
    return 0;
  }
}
