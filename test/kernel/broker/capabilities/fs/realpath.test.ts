import { symlinkSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { codeOf, mounted } from "./mounted.ts";

/** What the face takes besides what Node's does. */
type Realpath = (path: string, options?: { missing?: boolean }) => Promise<string>;

async function linked() {
  const mount = await mounted({ files: { "a/b/x": "", "c/x": "" } });
  const link = (target: string, name: string) => symlinkSync(target, path.join(mount.folder, name));
  link("a/b", "short");
  link("short/x", "shorter");
  link("../../c", "a/b/across");
  link(path.join(mount.folder, "c"), "absolute");
  link("c/none", "dangling");
  link("../outside/secret.txt", "out");
  link("loop", "loop");
  return { ...mount, realpath: mount.fs.realpath as unknown as Realpath };
}

test("a path's real one is a tool's own, without links and dots", async () => {
  const { realpath } = await linked();
  const pairs: readonly (readonly [given: string, real: string])[] = [
    ["/data/a/b/x", "/data/a/b/x"],
    ["data//a/./b/../b/x", "/data/a/b/x"],
    ["/data/short/x", "/data/a/b/x"],
    ["/data/shorter", "/data/a/b/x"],
    ["/data/a/b/across/x", "/data/c/x"],
    ["/fixed/absolute/x", "/fixed/c/x"],
    ["/data/short/", "/data/a/b"],
    ["/data", "/data"],
    ["/", "/"],
  ];
  for (const [given, real] of pairs) expect(await realpath(given)).toBe(real);
});

test("a path to nothing has one only where that is meant, and then it is where the link leads", async () => {
  const { realpath } = await linked();
  expect(await codeOf(realpath("/data/none"))).toBe("ENOENT");
  expect(await codeOf(realpath("/data/dangling"))).toBe("ENOENT");
  expect(await realpath("/data/none", { missing: true })).toBe("/data/none");
  expect(await realpath("/data/dangling", { missing: true })).toBe("/data/c/none");
  expect(await codeOf(realpath("/data/none/none", { missing: true }))).toBe("ENOENT");
  expect(await codeOf(realpath("/data/a/b/x/y", { missing: true }))).toBe("ENOTDIR");
});

test("a path that leads out, or round and round, has none", async () => {
  const { realpath } = await linked();
  for (const missing of [false, true]) {
    expect(await codeOf(realpath("/data/out", { missing }))).toBe("denied");
    expect(await codeOf(realpath("/other/x", { missing }))).toBe("denied");
    expect(await codeOf(realpath("/data/loop", { missing }))).toBe("ELOOP");
  }
});

test("a real path is its own real path", async () => {
  const { realpath } = await linked();
  const names = fc.constantFrom("a", "b", "c", "x", "..", ".", "short", "shorter", "across", "absolute", "dangling");
  await fc.assert(
    fc.asyncProperty(fc.array(names, { maxLength: 6 }), async (parts) => {
      const real = await realpath(`/data/${parts.join("/")}`, { missing: true }).catch(() => null);
      if (real !== null) expect(await realpath(real, { missing: true })).toBe(real);
    }),
    { numRuns: 50 },
  );
});
