/** Programs that import the package as its users do: the compiler sees the declarations that are published, no sources. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../../package.json" with { type: "json" };

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Below `node_modules`, where the compiler finds installed packages, and nothing else looks. */
const CACHE = join(ROOT, "node_modules/.cache");
const PATHS = Object.fromEntries(
  Object.entries(manifest.exports).flatMap(([entry, target]) =>
    typeof target === "string" ? [] : [[entry.replace(".", "glovebox"), [join(ROOT, target.types)]]],
  ),
);

export interface ProjectOptions {
  /** Options of the compiler that differ from those of this folder. */
  readonly compilerOptions?: object;
  /** Files that are compiled with those of the project. */
  readonly include?: readonly string[];
  /** The compiler's package. */
  readonly typescript?: "typescript" | "typescript-6";
}

/** Compiles a project of these files, by their names, and answers with what the compiler prints of them. */
export async function compile(
  files: Readonly<Record<string, string>>,
  { compilerOptions = {}, include = [], typescript = "typescript" }: ProjectOptions = {},
): Promise<string> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "types-"));
  const options = { noEmit: true, rootDir: ROOT, paths: PATHS, ...compilerOptions };
  const config = { extends: join(ROOT, "test/types/tsconfig.json"), compilerOptions: options };
  const all = { ...files, "tsconfig.json": JSON.stringify({ ...config, include: [".", ...include] }) };
  try {
    for (const [name, text] of Object.entries(all)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
    const compiler = join(ROOT, "node_modules", typescript, "bin/tsc");
    return await new Promise((resolve) => {
      execFile(process.execPath, [compiler, "-p", folder, "--pretty", "false"], (_error, stdout, stderr) =>
        resolve((stdout + stderr).replaceAll(/^.*?\.cache\/types-\w+\//gm, "")),
      );
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
