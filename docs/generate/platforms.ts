import { judgePlatform, ONLY_LINUX, type PlatformFacts } from "../../src/cli/platform.ts";
import { page, table } from "./markdown.ts";

const NODE_26 = "147";
const PLATFORMS: readonly Omit<PlatformFacts, "abi">[] = [
  { os: "linux", arch: "x64", libc: "glibc" },
  { os: "linux", arch: "x64", libc: "musl" },
  { os: "linux", arch: "arm64", libc: "glibc" },
  { os: "linux", arch: "arm64", libc: "musl" },
  { os: "darwin", arch: "arm64", libc: null },
  { os: "darwin", arch: "x64", libc: null },
  { os: "win32", arch: "x64", libc: null },
  { os: "win32", arch: "arm64", libc: null },
];

export function platformsPage(): string {
  const rows = PLATFORMS.map((facts) => {
    const { name, state, isolates, sandbox } = judgePlatform({ ...facts, abi: NODE_26 });
    return [name, state, isolates, sandbox];
  });
  return page("Platforms", [
    "Where Glovebox runs. `glovebox doctor` says it of the machine at hand in its line `platform`, and beside it whether an engine runs a tool there. *Not tested*: no test has run there, but the code has a way for it. All other systems and architectures are not supported.",
    table(["platform", "state", "`isolated-vm`", "the operating system's sandbox"], rows),
    `Outside Linux, Node's permission model is the wall of executors; ${ONLY_LINUX}. Other versions of Node, such as 25, have no binary anywhere: there \`isolated-vm\` is compiled. [Isolation levels](../explanation/isolation-levels.md#the-operating-systems-sandbox) says what the sandbox is for.`,
  ]);
}
