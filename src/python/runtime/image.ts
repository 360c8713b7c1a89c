import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { copyFile, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { GloveboxError, withoutPaths } from "../../kernel/base/errors.ts";
import { missingPackage } from "../../kernel/base/optional-package.ts";
import { makeOwn } from "../../kernel/base/os/own-folder.ts";
import { loadPrelude } from "../../kernel/tool/runtimes/prelude.ts";
import { bundleEngine } from "./engine-script.ts";
import { guestFolder, type PythonPlace, pythonPlace } from "./place.ts";
import { findPyodide } from "./place.ts";
import { isWhole, sealImage, sweepImages } from "./whole.ts";
import { readZones, withFile, ZONES_FILE } from "./zones.ts";

const run = promisify(execFile);
const BUILD_MS = 120_000;
const IMAGE = "image.json";

let building: Promise<void> | null = null;
/** The image that this process has already verified. */
let known: string | null = null;

/**
 * Builds Python's image if needed, which takes seconds. Rejects with a `GloveboxError`: `load_error`,
 * `missing_package`.
 */
export async function preparePython(): Promise<void> {
  const found = pythonPlace();
  const pyodide = findPyodide();
  if (pyodide === null) throw missingPackage("Python", ["pyodide"]);
  if (found === null) throw notReady("neither the user's cache folder nor the temporary one can be written to");
  if (known === found.image && existsSync(path.join(found.image, IMAGE))) return;
  building ??= provideImage(pyodide, found).finally(() => (building = null));
  try {
    await building;
  } catch (error) {
    throw notReady(reasonOf(error));
  }
}

function notReady(reason: string): GloveboxError {
  return new GloveboxError("load_error", `the Python runtime could not be loaded: ${reason}`);
}

/** The cause without paths of the host, because it is reported to the caller of `register`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "for no known reason";
  if ("syscall" in error && "code" in error) return `the operating system reported ${String(error.code)}`;
  const said = "stderr" in error ? String(error.stderr) : error.message;
  const found = /^.*\berror: .+$/im.exec(said) ?? /^.*error.*$/im.exec(said);
  const [line = "its process ended without a word"] = found ?? [];
  return withoutPaths(line);
}

/** Uses the existing image if it is intact; otherwise builds a new one. */
async function provideImage(pyodide: string, place: PythonPlace): Promise<void> {
  if (!(await isWhole(place.image))) {
    await buildImage(pyodide, place);
    await sweepImages(place.cache, place.image).catch(() => undefined);
  }
  known = place.image;
}

/** Atomic: the image is built in another folder and renamed at the end. Other processes may build the same image. */
async function buildImage(pyodide: string, { cache, image }: PythonPlace): Promise<void> {
  // A cache cleaner may have removed the folder.
  if (!makeOwn(cache)) throw new Error("error: its folder is no longer the user's own");
  const folder = await mkdtemp(path.join(cache, "making-"));
  try {
    const lock = JSON.parse(await readFile(path.join(pyodide, "pyodide-lock.json"), "utf8")) as {
      readonly info: object;
    };
    await Promise.all([
      writeFile(path.join(folder, "engine.js"), await bundleEngine(pyodide)),
      writeFile(path.join(folder, "lock.json"), JSON.stringify({ info: lock.info, packages: {} })),
      writeFile(path.join(folder, "prelude.js"), (await loadPrelude()).core),
      writeFile(path.join(folder, "modules.json"), JSON.stringify(readModules())),
      copyFile(path.join(pyodide, "pyodide.asm.wasm"), path.join(folder, "python.wasm")),
      writeFile(path.join(folder, "library.zip"), await readLibrary(pyodide)),
    ]);
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const program = fileURLToPath(new URL(`../worker/snapshot-program.${extension}`, import.meta.url));
    await run(process.execPath, ["--no-node-snapshot", "--no-warnings", program, folder], {
      env: {},
      timeout: BUILD_MS,
    });
    await sealImage(folder);
    await rename(folder, image).catch(async () => {
      // Either another process was faster, or a damaged image is in the way.
      if (await isWhole(image)) return;
      await rm(image, { recursive: true, force: true });
      await rename(folder, image);
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Python's library, with the data of time zones. */
async function readLibrary(pyodide: string): Promise<Buffer> {
  const [archive, zones] = await Promise.all([
    readFile(path.join(pyodide, "python_stdlib.zip")),
    readZones(guestFolder("")),
  ]);
  return zones === null ? archive : withFile(archive, ZONES_FILE, zones);
}

/** Python modules of the guest, keyed by module name. */
function readModules(): Record<string, string> {
  const root = guestFolder("lib");
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".py"));
  return Object.fromEntries(
    files.sort().map((file) => {
      const name = file.slice(0, -".py".length).replaceAll(path.sep, ".");
      return [name, readFileSync(path.join(root, file), "utf8")];
    }),
  );
}
