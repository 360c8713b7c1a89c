import { mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mergeMounts, mountGrants } from "../../../../../src/kernel/broker/capabilities/fs/mounts.ts";

let folder: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), "glovebox-mounts-")));
  await writeFile(path.join(folder, "file"), "");
  await symlink(folder, path.join(folder, "link"));
});
afterAll(() => rm(folder, { recursive: true }));

const asks = (value: unknown) => mountGrants.read(value, "request");
const allows = (value: unknown) => mountGrants.read(value, "policy");

describe("what is written", () => {
  test.each([
    ["nothing", null, ": is an object of mounts"],
    ["a list", [], ": is an object of mounts"],
    ["a mount without a mode", { data: {} }, '/data/mode: is missing; it is "ro" or "rw"'],
    ["a mode that is invalid", { data: { mode: "wo" } }, '/data/mode: is "ro" or "rw"'],
    ["a mount that is invalid", { data: "rw" }, "/data: is a mount"],
    ["a name that leads elsewhere", { "../x": { mode: "ro" } }, "/../x: the name of a mount"],
    ["an empty name", { "": { mode: "ro" } }, "/: the name of a mount"],
    ["a long name", { ["x".repeat(65)]: { mode: "ro" } }, "the name of a mount"],
    ["a path in a request", { data: { mode: "ro", path: "/etc" } }, "/data/path: is allowed only in a policy rule"],
    ["many mounts", Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`m${at}`, { mode: "ro" }])), ": has at"],
  ])("is refused with its pointer: %s", (_, value, message) => {
    expect(() => asks(value)).toThrow(message);
    expect(() => asks(value)).toThrow(TypeError);
  });

  test.each([
    ["no path", undefined, "is missing; it is the path of a folder"],
    ["a folder that is not there", "/no/such/folder", "there is no folder"],
    ["a NUL byte", "/tmp\0", "is the path of a folder"],
  ])("is refused in a policy: %s", (_, given, message) => {
    expect(() => allows({ data: { mode: "ro", path: given } })).toThrow(`/data/path: ${message}`);
  });

  test("is refused in a policy where a path is a file's", () => {
    expect(() => allows({ data: { mode: "ro", path: path.join(folder, "file") } })).toThrow("/data/path: ");
  });

  test("gives the real path of a policy's folder", () => {
    const mounts = allows({ data: { mode: "ro", path: path.join(folder, "link", "..", "link") } });
    expect(mounts.get("data")).toEqual({ mode: "ro", path: folder });
  });

  test("needs no path for scratch, and may have none", () => {
    expect(allows({ scratch: { mode: "rw" } }).get("scratch")).toEqual({ mode: "rw", path: null });
    expect(() => allows({ scratch: { mode: "rw", path: folder } })).toThrow("/scratch/path: is not allowed");
  });

  test("may name a mount like something of JavaScript's", () => {
    const asked = asks(JSON.parse('{"__proto__": {"mode": "ro"}, "constructor": {"mode": "rw"}}'));
    expect(mountGrants.describe(asked)).toBe('"__proto__" (ro), "constructor" (rw)');
  });
});

describe("what is granted", () => {
  test.each([
    ["ro", "ro", "ro"],
    ["ro", "rw", "ro"],
    ["rw", "ro", "ro"],
    ["rw", "rw", "rw"],
  ])("is, of %s asked and %s allowed, %s", (asked, allowed, granted) => {
    const both = mountGrants.meet(asks({ data: { mode: asked } }), allows({ data: { mode: allowed, path: folder } }));
    expect(both?.get("data")).toEqual({ mode: granted, path: folder });
  });

  test("is what both name, and nothing where they name nothing in common", () => {
    const allowed = allows({ a: { mode: "rw", path: folder }, b: { mode: "ro", path: folder } });
    const both = mountGrants.meet(asks({ b: { mode: "rw" }, c: { mode: "rw" } }), allowed);
    expect(both === null ? [] : [...both.keys()]).toEqual(["b"]);
    expect(mountGrants.meet(asks({ c: { mode: "ro" } }), allowed)).toBeNull();
  });

  test("is the first rule's folder, and may be written where another rule gives the same folder so", () => {
    const first = allows({ data: { mode: "ro", path: folder } });
    const other = allows({ data: { mode: "rw", path: tmpdir() } });
    expect(mergeMounts([first, other]).get("data")).toEqual({ mode: "ro", path: folder });
    const same = allows({ data: { mode: "rw", path: folder } });
    expect(mergeMounts([first, other, same]).get("data")).toEqual({ mode: "rw", path: folder });
    expect(mergeMounts([same, first]).get("data")).toEqual({ mode: "rw", path: folder });
  });

  test("is told by what is missing, with the pointer to it", () => {
    const granted = [allows({ data: { mode: "ro", path: folder } })];
    const asked = asks({ data: { mode: "rw" }, out: { mode: "ro" } });
    expect(mountGrants.uncovered(asked, granted)).toEqual([
      { pointer: "/data", asked: '"data" (rw)' },
      { pointer: "/out", asked: '"out" (ro)' },
    ]);
    expect(mountGrants.uncovered(asks({ data: { mode: "ro" } }), granted)).toEqual([]);
  });

  test("is described without the host's folders", () => {
    expect(mountGrants.describe(allows({ data: { mode: "rw", path: folder } }))).toBe('"data" (rw)');
  });
});
