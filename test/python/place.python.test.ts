import { existsSync } from "node:fs";
import { chmod, mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { newFolder } from "../kernel/tool/package/opening.ts";
import { runProgram } from "../kernel/engine/program.ts";

interface Told {
  readonly image: string | null;
  readonly problem: string | null;
}

async function tell(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Told> {
  const { stdout, stderr } = await runProgram("prepares-python", args, 290_000, env);
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Told;
}

describe("Python's image", () => {
  test.each(["", "relative/cache"])(
    "lies in the user's own cache where the one that is named is no path: %j",
    async (named) => {
      const home = await newFolder();
      const { image } = await tell({ HOME: home, XDG_CACHE_HOME: named });
      expect(path.dirname(image ?? "")).toBe(path.join(home, ".cache", "glovebox"));
      expect(existsSync("relative") || existsSync("glovebox")).toBe(false);
    },
  );

  test("lies where nobody else may write, and then only for as long as the process", async () => {
    const [cache, temporary] = [await newFolder(), await newFolder()];
    await mkdir(path.join(cache, "glovebox"));
    await chmod(path.join(cache, "glovebox"), 0o777);
    const { image } = await tell({ XDG_CACHE_HOME: cache, TMPDIR: temporary });
    expect(image?.startsWith(temporary)).toBe(true);
    expect(await readdir(temporary)).toEqual([]);
  });

  test("that can lie nowhere is said to, and nothing else is wrong", async () => {
    const { image, problem } = await tell({ HOME: "/dev/null", XDG_CACHE_HOME: "", TMPDIR: "/dev/null" }, "make");
    expect(image).toBeNull();
    expect(problem).toContain("can be written to");
  });

  test("that cannot be made is told of without the host's paths", async () => {
    const cache = await newFolder();
    const { problem } = await tell({ XDG_CACHE_HOME: cache }, "fail");
    expect(problem).toBe("the Python runtime could not be loaded: the operating system reported EEXIST");
  });

  test("is made again where the cache was cleared", async () => {
    const { problem } = await tell({ XDG_CACHE_HOME: await newFolder() }, "clear");
    expect(problem).toBeNull();
  });
});
