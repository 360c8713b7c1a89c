/** Temporary folders in which `glovebox` is installed as it is built: programs import it, and commands run it. */
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../../package.json" with { type: "json" };

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CLI = join(ROOT, "src/cli/main.ts");
export const FLAGS: readonly string[] = ["--no-warnings"];
const TIMEOUT_MS = 400_000;

/** Packages that a page's programs may import. */
export const PACKAGES: readonly string[] = Object.keys({
  ...manifest.dependencies,
  ...manifest.devDependencies,
});

export interface LinkedFolder extends Disposable {
  readonly path: string;
  write(file: string, text: string): void;
  /** Runs a program and answers with what it prints. Rejects with everything it said where it fails. */
  run(file: string, args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<string>;
}

/** Makes a folder with a copy of another one, where one is given, and with these packages beside `glovebox`. */
export function linkedFolder(packages: readonly string[], copied?: string): LinkedFolder {
  // Below the repository: a tool may import the packages of the folders above it, and no others that a link leads to.
  const path = mkdtempSync(join(ROOT, "test/docs/.modules-"));
  if (copied !== undefined) cpSync(copied, path, { recursive: true });
  const modules = join(path, "node_modules");
  for (const name of packages) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  }
  linkWorkspace(path, modules);
  linkGlovebox(modules);
  return {
    path,
    write: (file, text) => {
      mkdirSync(dirname(join(path, file)), { recursive: true });
      writeFileSync(join(path, file), text);
    },
    run: (file, args, environment = {}) => run(path, file, args, environment),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Links the packages of a workspace, as npm does. */
function linkWorkspace(path: string, modules: string): void {
  const folder = join(path, "packages");
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const file = join(folder, name, "package.json");
    const own = JSON.parse(readFileSync(file, "utf8")) as { readonly name: string };
    mkdirSync(dirname(join(modules, own.name)), { recursive: true });
    symlinkSync(join(folder, name), join(modules, own.name));
  }
}

/** Installs the package with the entries of its manifest, and its command, from the sources. */
function linkGlovebox(modules: string): void {
  const entries = JSON.stringify(manifest.exports)
    .replaceAll("./dist/", "./src/")
    .replaceAll(/(?:\.d\.ts|\.js)"/g, '.ts"');
  mkdirSync(join(modules, "glovebox"), { recursive: true });
  symlinkSync(join(ROOT, "src"), join(modules, "glovebox/src"));
  const linked = { ...manifest, exports: JSON.parse(entries) as object };
  writeFileSync(join(modules, "glovebox/package.json"), JSON.stringify(linked));
  mkdirSync(join(modules, ".bin"), { recursive: true });
  const command = [process.execPath, ...FLAGS, CLI].map((part) => `'${part}'`).join(" ");
  writeFileSync(join(modules, ".bin/glovebox"), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
}

function run(cwd: string, file: string, args: readonly string[], environment: NodeJS.ProcessEnv): Promise<string> {
  const folders = [join(cwd, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"] ?? ""];
  const env = {
    ...process.env,
    ...environment,
    PATH: folders.join(delimiter),
  };
  return new Promise((resolve, reject) => {
    execFile(file, args, { cwd, env, timeout: TIMEOUT_MS, killSignal: "SIGKILL" }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${stderr}${stdout}${error.message}`));
    });
  });
}
