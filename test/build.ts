import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Builds the package before the tests, unless nothing of its sources is newer than what is built. */
export default function setup(): void {
  if (newestMs("src") > newestMs("dist")) execFileSync("npm", ["run", "build"], { cwd: ROOT, stdio: "ignore" });
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
