import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { SHELL } from "../../base/os/rlimits.ts";
import type { FrameLimits } from "./frame.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Of a job. A module's text may have 4 MiB, and a connector's document 48. */
export const JOB_LIMITS: FrameLimits = { headBytes: MIB, textBytes: 48 * MIB };
/**
 * Of an answer: a bundle and its source map may have 16 MiB each, and those for calls half as much. A Python package
 * may have 10 MiB, and 32 MiB of compiled code, which are 43 as text.
 */
export const ANSWER_LIMITS: FrameLimits = { headBytes: 4 * MIB, textBytes: 56 * MIB };

/**
 * Addresses that esbuild may use. It reserves 1,250 MB without using the memory; the rest suffices for a bundle of the
 * largest size.
 */
export const ADDRESS_MB = 1_750;
/** The same for a larger module of the operator's project: one of 16 MiB takes 1,200 MB of memory. */
export const PROJECT_ADDRESS_MB = 2_500;

/** Heap of a build process: a bundle of the largest size with its source map takes a third of it. */
export const HEAP_MB = 512;

/** Whether esbuild has an address-space limit here, and the reason if it has none. */
export type EsbuildLimit =
  | { readonly kind: "limited"; readonly env: Readonly<Record<string, string>> }
  | { readonly kind: "off"; readonly reason: string };

let found: EsbuildLimit | undefined;

/**
 * The limit of esbuild on this system, found once. `env` makes esbuild's library start it by way of the limit, of
 * `ADDRESS_MB`.
 */
export function esbuildLimit(): EsbuildLimit {
  return (found ??= findLimit());
}

/** The variables of a build process for another limit, in MB. */
export function limitedTo(env: Readonly<Record<string, string>>, addressMb: number): Readonly<Record<string, string>> {
  return { ...env, GLOVEBOX_ADDRESS_KIB: String(addressMb * 1_000) };
}

function findLimit(): EsbuildLimit {
  if (process.platform !== "linux") return { kind: "off", reason: `${process.platform} has no limit on addresses` };
  if (!existsSync(SHELL)) return { kind: "off", reason: `there is no ${SHELL}` };
  const wrapper = fileURLToPath(new URL("../../../../bin/esbuild-limited.sh", import.meta.url));
  try {
    accessSync(wrapper, constants.X_OK);
  } catch {
    return { kind: "off", reason: "bin/esbuild-limited.sh of this package cannot be executed" };
  }
  const binary = findEsbuild();
  if (binary === undefined) return { kind: "off", reason: "esbuild's program was not found in its package" };
  const env = limitedTo({ ESBUILD_BINARY_PATH: wrapper, GLOVEBOX_ESBUILD: binary }, ADDRESS_MB);
  return { kind: "limited", env };
}

/** esbuild's program is in a separate package, named by Node's names of the platform. */
function findEsbuild(): string | undefined {
  try {
    const library = realpathSync(createRequire(import.meta.url).resolve("esbuild"));
    return createRequire(library).resolve(`@esbuild/${process.platform}-${process.arch}/bin/esbuild`);
  } catch {
    return undefined;
  }
}

/** The beginning of the paths below which build processes may write: new folders get a random end. */
export function writablePrefix(): string {
  return path.join(resolved(tmpdir()), "glovebox-package-");
}

/** The folder without symbolic links. A missing folder is returned unchanged: only packages need it. */
function resolved(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
