import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { judgePlatform, PREBUILT, PREBUILT_ABIS, readPlatform } from "../../src/cli/platform.ts";

const [, NODE_26 = ""] = PREBUILT_ABIS;
const NODE_25 = "141";

describe("a platform", () => {
  test.each([
    ["linux", "x64", "glibc", "Linux x64 with glibc", "tested", "bubblewrap, where it is installed"],
    [
      "linux",
      "x64",
      "musl",
      "Linux x64 with musl",
      "not tested",
      "bubblewrap, where it is installed, with an untested list of system calls",
    ],
    [
      "linux",
      "arm64",
      "glibc",
      "Linux arm64 with glibc",
      "not tested",
      "bubblewrap, where it is installed, with an untested list of system calls",
    ],
    ["linux", "riscv64", "glibc", "Linux riscv64 with glibc", "not supported", "none: its system calls are in no list"],
    ["darwin", "arm64", null, "macOS arm64", "not tested", "none: bubblewrap is for Linux"],
    ["win32", "x64", null, "Windows x64", "not tested", "none: bubblewrap is for Linux"],
    ["freebsd", "x64", null, "freebsd x64", "not supported", "none: bubblewrap is for Linux"],
  ] as const)(
    "of %s, %s and %s has its state, its sandbox and what it lacks",
    (os, arch, libc, name, state, sandbox) => {
      const judged = judgePlatform({ os, arch, libc, abi: NODE_26 });
      expect(judged).toMatchObject({ name, state, sandbox });
      expect(judged.missing === null).toBe(os === "linux");
    },
  );

  test.each([
    ["linux", "x64", "glibc", NODE_26, "a binary for Node 24 and 26"],
    ["linux", "x64", "musl", NODE_26, "a binary for Node 24 and 26, where /etc/alpine-release exists"],
    ["linux", "x64", "glibc", NODE_25, "compiled by a C++ compiler and Python when it is installed"],
    ["darwin", "x64", null, NODE_26, "compiled by a C++ compiler and Python when it is installed"],
    ["win32", "arm64", null, NODE_26, "compiled by a C++ compiler and Python when it is installed"],
  ] as const)("of %s, %s, %s and the ABI %s gets isolates that way", (os, arch, libc, abi, isolates) => {
    expect(judgePlatform({ os, arch, libc, abi }).isolates).toBe(isolates);
  });
});

test("the binaries are those in the package isolated-vm", () => {
  const folder = join(dirname(createRequire(import.meta.url).resolve("isolated-vm/package.json")), "prebuilds");
  expect(readdirSync(folder).toSorted()).toEqual(PREBUILT.toSorted());
  for (const name of PREBUILT) {
    const libraries = name.startsWith("linux-") ? [".glibc", ".musl"] : [""];
    const files = PREBUILT_ABIS.flatMap((abi) => libraries.map((libc) => `isolated-vm.abi${abi}${libc}.node`));
    expect(readdirSync(join(folder, name)).toSorted()).toEqual(files);
  }
});

test("the machine's own facts are Node's", () => {
  const { os, arch, libc } = readPlatform();
  expect([os, arch]).toEqual([process.platform, process.arch]);
  expect(libc === null).toBe(process.platform !== "linux");
});
