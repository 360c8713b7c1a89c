import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isLocal, LocalFile, LocalFileHolder } from "../../../../../src/kernel/broker/capabilities/fs/local-holder.ts";
import { codeOf, mounted } from "./mounted.ts";

let folder = "";

beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), "glovebox-local-")));
});

afterEach(() => rmSync(folder, { recursive: true }));

const descriptors = () => readdirSync("/proc/self/fd").length;

// The kernel's types of file systems, and its list of mounts.
describe.runIf(process.platform === "linux")("a local folder", () => {
  test("is one on a disk of this machine, with nothing mounted in it", ({ skip }) => {
    expect(isLocal("/proc")).toBe(false);
    expect(isLocal("/")).toBe(false);
    if (!isLocal(folder)) skip("temporary files are not on a local disk here");
  });

  test("any part of a file is what the system reads of it", async () => {
    const { fs } = await mounted({ files: { x: "0123456789" } });
    await fc.assert(
      fc.asyncProperty(fc.nat(15), fc.option(fc.nat(15), { nil: undefined }), async (position, length) => {
        const part = await fs.readFile("/data/x", {
          encoding: "utf8",
          position,
          ...(length === undefined ? {} : { length }),
        });
        expect(part).toBe("0123456789".slice(position, length === undefined ? undefined : position + length));
      }),
    );
  });

  test("a file that grows between its check and its reading is read whole", async () => {
    const file = path.join(folder, "log");
    writeFileSync(file, "a".repeat(100));
    const holder = new (class extends LocalFileHolder {
      override async hold(name: string) {
        const held = await super.hold(name);
        appendFileSync(file, "b".repeat(100));
        return held;
      }
    })();
    const { fs } = await mounted({ holder, more: { logs: { path: folder, mode: "ro" } } });
    expect(await fs.readFile("/logs/log", "utf8")).toBe(readFileSync(file, "utf8"));
  });

  test("leaves no descriptor open, whatever an operation ends with", async () => {
    const { fs, folder: data } = await mounted({ files: { "a/b/x": "x" } });
    symlinkSync("a", path.join(data, "link"));
    symlinkSync("/etc", path.join(data, "out"));
    const all = () =>
      Promise.all(
        ["a/b/x", "link/b/x", "a/none", "a/b/x/y", "out/passwd", "a", "link"].map((name) =>
          codeOf(fs.readFile(`/data/${name}`)),
        ),
      );
    const codes = await all();
    expect(codes).toEqual(["ok", "ok", "ENOENT", "ENOTDIR", "denied", "EISDIR", "EISDIR"]);
    const before = descriptors();
    for (let round = 0; round < 20; round++) expect(await all()).toEqual(codes);
    expect(descriptors()).toBeLessThanOrEqual(before);
  });

  test("many operations at once leave turns to what else the thread does", async () => {
    const { fs } = await mounted({ files: { "a/b/c/x": "x".repeat(1_000) }, limits: { callBytes: Infinity } });
    let turns = 0;
    const count = () => {
      turns++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const texts = await Promise.all(Array.from({ length: 400 }, () => fs.readFile("/data/a/b/c/x", "utf8")));
    clearImmediate(timer);
    expect(new Set(texts)).toEqual(new Set(["x".repeat(1_000)]));
    // 400 reads open 2,000 descriptors.
    expect(turns).toBeGreaterThan(5);
  });
});

test.runIf(process.platform === "linux")("a file that was let go has no path any more", async () => {
  mkdirSync(path.join(folder, "a"));
  const held = await new LocalFileHolder().hold(path.join(folder, "a"));
  expect(held).toBeInstanceOf(LocalFile);
  await held[Symbol.asyncDispose]();
  await held[Symbol.asyncDispose]();
  expect(held.path).toBe("/proc/self/fd/-1");
});
