/** Facts about a machine that determine which features work on it. */
export interface PlatformFacts {
  readonly os: string;
  readonly arch: string;
  /** Of Linux. */
  readonly libc: "glibc" | "musl" | null;
  /** Node's number of the interface that native modules are compiled for. */
  readonly abi: string;
}

/** Features of a platform, in words for tables and messages. */
export interface Platform {
  readonly name: string;
  readonly state: "tested" | "not tested" | "not supported";
  /** Source of the native module `isolated-vm`. */
  readonly isolates: string;
  /** Effect of the operating system's sandbox. */
  readonly sandbox: string;
  /** Missing features. */
  readonly missing: string | null;
}

const SYSTEMS: Readonly<Record<string, string>> = { linux: "Linux", darwin: "macOS", win32: "Windows" };
/** The system calls of others are in no list. */
const ARCHITECTURES: readonly string[] = ["x64", "arm64"];
/** For which the package `isolated-vm` has binaries; each of Linux for both C libraries. */
export const PREBUILT: readonly string[] = ["linux-x64", "linux-arm64", "darwin-arm64", "win32-x64"];
/** Node 24 and 26. */
export const PREBUILT_ABIS: readonly string[] = ["137", "147"];

const NO_BUBBLEWRAP = "none: bubblewrap is for Linux";
/** Features of Linux alone. */
export const ONLY_LINUX =
  "commands and binaries are refused, builds of tools have no limit on addresses, and a race may lead out of a mount";

export function judgePlatform({ os, arch, libc, abi }: PlatformFacts): Platform {
  const system = SYSTEMS[os];
  const name = `${system ?? os} ${arch}${libc === null ? "" : ` with ${libc}`}`;
  const isLinux = os === "linux";
  const missing = isLinux ? null : ONLY_LINUX;
  if (system === undefined || !ARCHITECTURES.includes(arch)) {
    const sandbox = isLinux ? "none: its system calls are in no list" : NO_BUBBLEWRAP;
    return { name, state: "not supported", isolates: "compiled, if at all", sandbox, missing };
  }
  const isTested = isLinux && arch === "x64" && libc === "glibc";
  const isolates = isolatesOn({ os, arch, libc, abi });
  if (!isLinux) return { name, state: "not tested", isolates, sandbox: NO_BUBBLEWRAP, missing };
  return isTested
    ? { name, state: "tested", isolates, sandbox: "bubblewrap, where it is installed", missing }
    : {
        name,
        state: "not tested",
        isolates,
        sandbox: "bubblewrap, where it is installed, with an untested list of system calls",
        missing,
      };
}

function isolatesOn({ os, arch, libc, abi }: PlatformFacts): string {
  if (!PREBUILT.includes(`${os}-${arch}`) || !PREBUILT_ABIS.includes(abi))
    return "compiled by a C++ compiler and Python when it is installed";
  // The search for the binary recognises musl only by this file.
  return libc === "musl"
    ? "a binary for Node 24 and 26, where /etc/alpine-release exists"
    : "a binary for Node 24 and 26";
}

/** Facts about the machine of this process. */
export function readPlatform(): PlatformFacts {
  const { platform: os, arch, versions } = process;
  return { os, arch, libc: os === "linux" ? readLibc() : null, abi: versions.modules };
}

function readLibc(): "glibc" | "musl" {
  const { header } = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime === undefined ? "musl" : "glibc";
}
