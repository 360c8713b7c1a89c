import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import {
  bubblewrapArguments,
  closedIn,
  findBubblewrap,
  LIBRARIES,
  librariesOfNode,
  readOnly,
} from "../../base/os/bubblewrap.ts";
import { SHELL } from "../../base/os/rlimits.ts";
import { commandFilter } from "../../base/os/command-filter.ts";

/** Whether builds of untrusted texts run in a sandbox of the operating system, or the reason why not. */
export type BuildSandboxState =
  | { readonly kind: "bubblewrap"; readonly command: string; readonly filter: Uint8Array | null }
  | { readonly kind: "off"; readonly reason: string };

/** Packages that a build process loads, with all their requirements. */
const PACKAGES = ["esbuild", "acorn", "ajv", "ajv-formats"];

/** Time for which builds run without a sandbox after a failure: its requirements may be met again later. */
const GIVEN_UP_MS = 60_000;

/** Files of modules with jobs of other packages. */
const modules = new Set<string>();

let state: BuildSandboxState | undefined;
let isProved = false;
let givenUpMs = -Infinity;

/** The sandbox on this system. That it works is shown by the first process in it. */
export function buildSandbox(): BuildSandboxState {
  if (state?.kind === "off" && performance.now() > givenUpMs + GIVEN_UP_MS) state = undefined;
  return (state ??= find());
}

function find(): BuildSandboxState {
  const filter = commandFilter(process.arch, true);
  const found = findBubblewrap(filter);
  return "reason" in found
    ? { kind: "off", reason: found.reason }
    : { kind: "bubblewrap", command: found.command, filter };
}

/** A process in the sandbox has begun: none that fails later does so because of the sandbox. */
export function proveSandbox(): void {
  isProved = true;
  // Another process may have failed to begin at the same time.
  if (state?.kind === "off") state = undefined;
}

/**
 * Disables the sandbox for a while, because it does not work here. Ignored once it has worked: no job may disable the
 * sandbox.
 */
export function giveUpSandbox(reason: string): void {
  if (isProved) return;
  state = { kind: "off", reason };
  givenUpMs = performance.now();
}

/** Shows the file of a job's module in sandboxes that start from now on. Those in `node_modules` are visible anyway. */
export function showModule(url: string): void {
  const file = fileURLToPath(url);
  const isThere = [...own(), ...moduleFolders()].some((folder) => file.startsWith(folder));
  if (!isThere) modules.add(file);
}

/** Number of modules that are shown. */
export function shownModules(): number {
  return modules.size;
}

/** The command inside: without network, and with Node, its libraries, this package and its dependencies to read. */
export function sandboxed(bubblewrap: string, command: readonly string[], filterFd: number): readonly string[] {
  return [bubblewrap, ...bubblewrapArguments(view(), { filterFd, forbidsNamespaces: true }), "--", ...command];
}

function view(): readonly string[] {
  const shown = [process.execPath, ...librariesOfNode(), ...own(), ...moduleFolders(), ...modules];
  const mounts = shown.flatMap((one) => ["--ro-bind-try", one, one]);
  // The shell limits esbuild's addresses.
  const shell = ["--ro-bind", realpathSync(SHELL), SHELL];
  return [...readOnly(LIBRARIES), ...shell, ...mounts, "--proc", "/proc", ...closedIn("/", ["/proc"])];
}

/** This package's code. */
function own(): readonly string[] {
  return [
    new URL("../../../", import.meta.url),
    new URL("../../../../bin/", import.meta.url),
    new URL("../../../../package.json", import.meta.url),
  ].map((url) => fileURLToPath(url));
}

/** The outermost `node_modules` of each package: package managers link to a package's own dependencies within it. */
function moduleFolders(): Set<string> {
  const require = createRequire(import.meta.url);
  const segment = `${path.sep}node_modules${path.sep}`;
  const files = PACKAGES.map((name) => realpathSync(require.resolve(name)));
  const within = files.filter((file) => file.includes(segment));
  return new Set(within.map((file) => file.slice(0, file.indexOf(segment) + segment.length)));
}
