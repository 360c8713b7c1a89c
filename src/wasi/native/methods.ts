import type { GrantKind } from "../../kernel/broker/capabilities/capability.ts";
import type { ModuleCapability } from "../../kernel/broker/capabilities/module-capability.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Limits of one run of a binary, and of all runs, in addition to the call's own limits. */
interface NativeLimits {
  /** Maximum length of an argument on Linux, in bytes, without the terminating NUL. */
  readonly argumentBytes: number;
  /** Maximum of stdout kept, and of stderr. */
  readonly saidBytes: number;
  /** Maximum of both that a binary may write before it is killed. */
  readonly drainedBytes: number;
  /** Maximum number of threads; a binary has one process. */
  readonly threads: number;
  readonly openFiles: number;
  /** Capacity of its folder, in bytes, and in files and folders. */
  readonly folderBytes: number;
  readonly folderEntries: number;
  /** Memory that it may reserve beyond `memoryMb`, without using it. */
  readonly spareBytes: number;
  /** Address space beyond `memoryMb`: the bound on its memory between two looks of the watch. */
  readonly addressBytes: number;
  /** Maximum number of runs of all calls at once; more wait. */
  readonly atOnce: number;
  /** Number of these that only tenants without a run get. */
  readonly reserved: number;
}

export const NATIVE_LIMITS: NativeLimits = Object.freeze({
  argumentBytes: 128 * KIB - 1,
  saidBytes: 64 * KIB,
  drainedBytes: 16 * MIB,
  threads: 64,
  openFiles: 256,
  folderBytes: 64 * MIB,
  folderEntries: 10_000,
  spareBytes: 256 * MIB,
  addressBytes: 8_192 * MIB,
  atOnce: 8,
  reserved: 2,
});

/** Grants of `native`: allowed or not. The call's limits bound the use. */
export const nativeGrants: GrantKind<true> = {
  read(value) {
    if (value === true) return true;
    throw new TypeError(": is true; the tool's limits bound what a binary may use");
  },
  meet: () => true,
  uncovered: (_asked, granted) => (granted.length === 0 ? [{ pointer: "", asked: "the capability" }] : []),
  describe: () => "its binary, in an operating-system sandbox",
};

/** `native`: runs a tool's binary in a sandbox of the operating system. */
export const NATIVE: ModuleCapability<true> = {
  name: "native",
  grants: nativeGrants,
  methods: {
    run: {
      input: {
        type: "object",
        properties: { argument: { type: "string" } },
        required: ["argument"],
        additionalProperties: false,
      },
    },
  },
  module: new URL(`./native.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url),
};
