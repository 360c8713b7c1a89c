/**
 * The last step before the package is packed: npm packs the modes of files, and those of a checkout are what its umask
 * left. The same commit shall be the same package everywhere.
 */
import { chmod, glob, stat } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../package.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const packed = manifest.files.filter((name) => !name.startsWith("!"));

for await (const name of glob(["package.json", ...packed, ...packed.map((folder) => `${folder}/**`)], { cwd: ROOT })) {
  const file = path.join(ROOT, name);
  const entry = await stat(file);
  if (entry.isFile()) await chmod(file, (entry.mode & 0o100) === 0 ? 0o644 : 0o755);
}
