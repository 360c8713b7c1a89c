import { chmodSync, mkdirSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { CapabilityRefusal } from "../../../../../src/kernel/broker/capabilities/capability.ts";
import { codeOf, mounted, SECRET } from "./mounted.ts";

async function refusalOf(promise: Promise<unknown>): Promise<CapabilityRefusal> {
  const error: unknown = await promise.catch((reason: unknown) => reason);
  if (error instanceof CapabilityRefusal) return error;
  throw new Error("it was not refused", { cause: error });
}

const GRANTED = 'fs "data" (rw), "fixed" (ro), "scratch" (rw)';

describe("a refusal says what was asked, what is granted and how to grant it", () => {
  test("where there is no such mount", async () => {
    const { fs } = await mounted();
    const refusal = await refusalOf(fs.readFile("/etc/passwd"));
    expect(refusal.outcome).toBe("denied");
    expect(refusal.message).toBe('there is no mount "etc"');
    expect(refusal.refused).toEqual({
      asked: "fs.readFile of /etc/passwd",
      granted: GRANTED,
      remedy: "add a mount to capabilities.fs of the tool, and with its path to allow.fs of a policy rule",
    });
  });

  test("where a mount is read-only", async () => {
    const { fs } = await mounted({ files: { x: "" } });
    const refusal = await refusalOf(fs.writeFile("/fixed/x", "changed"));
    expect(refusal.message).toBe('the mount "fixed" is read-only');
    expect(refusal.refused).toEqual({
      asked: "fs.writeFile of /fixed/x",
      granted: GRANTED,
      remedy: 'set the mode of "fixed" to "rw" in capabilities.fs of the tool, and in allow.fs of a policy rule',
    });
  });

  test("and is no longer than it has to be", async () => {
    const { fs } = await mounted();
    const { message, refused } = await refusalOf(fs.readFile(`/${"x".repeat(4_000)}`));
    expect(JSON.stringify([message, refused]).length).toBeLessThan(1_000);
  });
});

describe("a mount that is read-only", () => {
  test("is changed by nothing", async () => {
    const { fs, folder } = await mounted({ files: { "a/x": "content", y: "" } });
    const operations = [
      fs.writeFile("/fixed/y", "z"),
      fs.writeFile("/fixed/new", "z"),
      fs.appendFile("/fixed/y", "z"),
      fs.truncate("/fixed/a/x"),
      fs.mkdir("/fixed/b"),
      fs.mkdir("/fixed/b/c", { recursive: true }),
      fs.rm("/fixed/a", { recursive: true }),
      fs.rm("/fixed/none", { force: true }),
      fs.rmdir("/fixed/a"),
      fs.unlink("/fixed/y"),
      fs.rename("/fixed/y", "/fixed/z"),
      fs.rename("/fixed/y", "/data/z"),
      fs.rename("/data/y", "/fixed/z"),
      fs.copyFile("/data/y", "/fixed/z"),
      fs.access("/fixed/y", 2),
      fs.writeFile("/data/../fixed/y", "z"),
    ];
    expect(await Promise.all(operations.map(codeOf))).toEqual(operations.map(() => "denied"));
    expect(readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted()).toEqual([
      "a",
      path.join("a", "x"),
      "y",
    ]);
  });

  test("is read like any other", async () => {
    const { fs } = await mounted({ files: { "a/x": "content" } });
    expect(await fs.readFile("/fixed/a/x", "utf8")).toBe("content");
    expect(await fs.readdir("/fixed", { recursive: true })).toEqual(["a", "a/x"]);
    await fs.access("/fixed/a/x", 4);
    await fs.copyFile("/fixed/a/x", "/data/copy");
  });
});

test("/ is listed, and changed by nothing", async () => {
  const { fs } = await mounted();
  const operations = [
    fs.rm("/", { recursive: true, force: true }),
    fs.mkdir("/", { recursive: true }),
    fs.writeFile("/", "x"),
    fs.rename("/data", "/"),
    fs.writeFile("/x", "x"),
    fs.mkdir("/x"),
  ];
  expect(await Promise.all(operations.map(codeOf))).toEqual([
    "denied",
    "denied",
    "denied",
    "denied",
    "denied",
    "denied",
  ]);
});

test("names of mounts that are JavaScript's own are no mounts", async () => {
  const { fs } = await mounted();
  for (const name of ["__proto__", "constructor", "toString"]) {
    expect(await codeOf(fs.readFile(`/${name}/x`))).toBe("denied");
  }
});

test("a mount whose folder has become a link to elsewhere is not there", async () => {
  const { fs, folder, outside } = await mounted({ files: { "secret.txt": "inside" } });
  renameSync(folder, `${folder}-old`);
  symlinkSync(outside, folder);
  expect(await codeOf(fs.readFile("/data/secret.txt"))).not.toBe("ok");
});

test.runIf(process.platform === "linux")(
  "a mount below another is not moved elsewhere by a link on its way",
  async () => {
    const { fs, folder, outside, heard } = await mounted({ files: { "a/b/x": "inside" } });
    const inner = await mounted({ more: { inner: { path: path.join(folder, "a", "b"), mode: "rw" } } });
    expect(await inner.fs.readFile("/inner/x", "utf8")).toBe("inside");
    mkdirSync(path.join(outside, "b"));
    symlinkSync(outside, path.join(folder, "link"));
    await fs.rename("/data/a", "/data/moved");
    await fs.rename("/data/link", "/data/a");
    expect(await codeOf(inner.fs.writeFile("/inner/x", "outside"))).not.toBe("ok");
    expect(readdirSync(path.join(outside, "b"))).toEqual([]);
    expect(heard().includes(SECRET)).toBe(false);
  },
);

test("what only the host may not do is an error of the system's", async () => {
  const { fs, folder } = await mounted({ files: { "a/x": "" } });
  chmodSync(path.join(folder, "a"), 0o000);
  // Nothing is forbidden to root.
  const expected = process.getuid?.() === 0 ? "ok" : "EACCES";
  expect(await codeOf(fs.readFile("/data/a/x"))).toBe(expected);
  chmodSync(path.join(folder, "a"), 0o700);
});
