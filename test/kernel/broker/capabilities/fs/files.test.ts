import { appendFileSync, readFileSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { descriptorFileHolder, pathFileHolder } from "../../../../../src/kernel/broker/capabilities/fs/file-holder.ts";
import { codeOf, mounted as mountedWith, type MountOptions } from "./mounted.ts";

const GRIPS = [
  ["paths", pathFileHolder],
  // Other systems have no such descriptors.
  ...(process.platform === "linux" ? [["descriptors", descriptorFileHolder] as const] : []),
] as const;

describe.each(GRIPS)("files that are held by %s", (_, holder) => {
  const mounted = (options: MountOptions = {}) => mountedWith({ holder, ...options });

  test("are read as text and as bytes", async () => {
    const binary = Uint8Array.from({ length: 255 }, (_byte, at) => at + 1);
    const { fs } = await mounted({ files: { "a/b.txt": "grüße 🙂", binary, zero: new Uint8Array(3), none: "" } });
    expect(await fs.readFile("/data/a/b.txt", "utf8")).toBe("grüße 🙂");
    expect(await fs.readFile("/data/a/b.txt", { encoding: "utf-8" })).toBe("grüße 🙂");
    expect(await fs.readFile("data/a/b.txt")).toEqual(new TextEncoder().encode("grüße 🙂"));
    expect(await fs.readFile("/data/binary")).toEqual(binary);
    expect(await fs.readFile("/data/zero")).toEqual(new Uint8Array(3));
    expect(await fs.readFile("/data/none")).toEqual(new Uint8Array(0));
    expect(await fs.readFile("/data/binary", "utf8")).toBe(Buffer.from(binary).toString("utf8"));
  });

  test("are read in parts", async () => {
    const { fs } = await mounted({ files: { x: "0123456789" } });
    expect(await fs.readFile("/data/x", { encoding: "utf8", position: 2, length: 3 })).toBe("234");
    expect(await fs.readFile("/data/x", { encoding: "utf8", position: 8 })).toBe("89");
    expect(await fs.readFile("/data/x", { encoding: "utf8", position: 99, length: 5 })).toBe("");
    expect(await fs.readFile("/data/x", { encoding: "utf8", length: 0 })).toBe("");
  });

  test("are written anew, at the end, and only where nothing is yet", async () => {
    const { fs, folder } = await mounted({ files: { x: "a long text that was there" } });
    const text = () => readFileSync(path.join(folder, "x"), "utf8");
    await fs.writeFile("/data/x", "short");
    expect(text()).toBe("short");
    await fs.appendFile("/data/x", "er");
    await fs.writeFile("/data/x", "!", { flag: "a" });
    expect(text()).toBe("shorter!");
    expect(await codeOf(fs.writeFile("/data/x", "", { flag: "wx" }))).toBe("EEXIST");
    await fs.writeFile("/data/new", Uint8Array.of(0, 255), { flag: "wx" });
    await fs.appendFile("/data/newer", "made");
    expect(readFileSync(path.join(folder, "new"))).toEqual(Buffer.from([0, 255]));
    expect(readFileSync(path.join(folder, "newer"), "utf8")).toBe("made");
  });

  test("are written from any view of bytes", async () => {
    const { fs, folder } = await mounted();
    const words = Uint16Array.of(1, 2, 3);
    await fs.writeFile("/data/x", words.subarray(1));
    expect(readFileSync(path.join(folder, "x"))).toEqual(Buffer.from([2, 0, 3, 0]));
    await fs.writeFile("/data/x", new DataView(words.buffer, 0, 2));
    expect(readFileSync(path.join(folder, "x"))).toEqual(Buffer.from([1, 0]));
    await expect(fs.writeFile("/data/x", { not: "data" } as never)).rejects.toThrow(TypeError);
  });

  test("are listed, with their kinds, and with all below", async () => {
    const { fs } = await mounted({ files: { "a/b/c": "", "a/d": "", e: "" } });
    expect((await fs.readdir("/data")).toSorted()).toEqual(["a", "e"]);
    expect((await fs.readdir("/data/a/", { recursive: true })).toSorted()).toEqual(["b", "b/c", "d"]);
    const entries = await fs.readdir("/data", { recursive: true, withFileTypes: true });
    const shown = entries.map((entry) => `${entry.parentPath}:${entry.name}:${entry.isDirectory()}:${entry.isFile()}`);
    expect(shown.toSorted()).toEqual([
      "/data/a/b:c:false:true",
      "/data/a:b:true:false",
      "/data/a:d:false:true",
      "/data:a:true:false",
      "/data:e:false:true",
    ]);
  });

  test("stand below mounts, which / lists", async () => {
    const { fs } = await mounted({ files: { x: "" } });
    expect((await fs.readdir("/")).toSorted()).toEqual(["data", "fixed", "scratch"]);
    expect((await fs.readdir("/", { recursive: true })).toSorted()).toEqual([
      "data",
      "data/x",
      "fixed",
      "fixed/x",
      "scratch",
    ]);
    expect((await fs.stat("/")).isDirectory()).toBe(true);
    expect((await fs.stat("/data")).isDirectory()).toBe(true);
  });

  test("are told of with size, time and kind", async () => {
    const { fs, folder } = await mounted({ files: { x: "12345" } });
    const stats = await fs.stat("/data/x");
    expect([stats.size, stats.isFile(), stats.isDirectory(), stats.isSymbolicLink()]).toEqual([5, true, false, false]);
    expect(stats.mtimeMs).toBe(statSync(path.join(folder, "x")).mtimeMs);
    expect(stats.mtime.getTime()).toBe(new Date(stats.mtimeMs).getTime());
  });

  test("are moved, copied, cut and removed", async () => {
    const { fs, folder } = await mounted({ files: { "a/x": "content", y: "other" } });
    await fs.copyFile("/data/a/x", "/data/copy");
    expect(await codeOf(fs.copyFile("/data/y", "/data/copy", fs.constants.COPYFILE_EXCL))).toBe("EEXIST");
    await fs.copyFile("/data/copy", "/data/copy");
    expect(readFileSync(path.join(folder, "copy"), "utf8")).toBe("content");
    await fs.truncate("/data/copy", 3);
    await fs.rename("/data/copy", "/data/y");
    expect(readFileSync(path.join(folder, "y"), "utf8")).toBe("con");
    await fs.truncate("/data/y");
    expect(statSync(path.join(folder, "y")).size).toBe(0);
    await fs.unlink("/data/y");
    await fs.rm("/data/a", { recursive: true });
    await fs.rm("/data/a", { recursive: true, force: true });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("have folders that are made one by one or all together", async () => {
    const { fs, folder } = await mounted();
    expect(await fs.mkdir("/data/a")).toBeUndefined();
    expect(await fs.mkdir("/data/a/b/c", { recursive: true })).toBe("/data/a/b");
    expect(await fs.mkdir("/data/a/b/c", { recursive: true })).toBeUndefined();
    await fs.rmdir("/data/a/b/c");
    expect(readdirSync(folder, { recursive: true })).toEqual(["a", path.join("a", "b")]);
  });

  test("are written at the end also by the operation that makes them, as another may write first", async () => {
    const create: typeof holder.create = async (made, name, flags) => {
      const handle = await holder.create(made, name, flags);
      appendFileSync(path.join(made.path, name), "first\n");
      return handle;
    };
    const { fs, folder } = await mounted({ holder: { ...holder, create } });
    await fs.appendFile("/data/log", "second\n");
    expect(readFileSync(path.join(folder, "log"), "utf8")).toBe("first\nsecond\n");
  });

  test("are written by several operations at once without loss", async () => {
    const { fs, folder } = await mounted();
    await Promise.all(Array.from({ length: 40 }, (_each, at) => fs.appendFile("/data/log", `${at}\n`)));
    expect(readFileSync(path.join(folder, "log"), "utf8").trim().split("\n")).toHaveLength(40);
  });

  test.each<[string, string, (fs: Awaited<ReturnType<typeof mounted>>["fs"]) => Promise<unknown>]>([
    ["ENOENT", "a file that is not there is read", (fs) => fs.readFile("/data/none")],
    ["ENOENT", "a folder on the way is not there", (fs) => fs.writeFile("/data/none/x", "")],
    ["ENOENT", "the path is empty", (fs) => fs.stat("")],
    ["ENOENT", "what is not there is removed", (fs) => fs.rm("/data/none")],
    ["ENOENT", "what is not there is moved", (fs) => fs.rename("/data/none", "/data/x")],
    ["ENOENT", "what is not there is looked for", (fs) => fs.access("/data/none")],
    ["EEXIST", "a folder is made where a file is", (fs) => fs.mkdir("/data/file")],
    ["EEXIST", "folders are made up to a file", (fs) => fs.mkdir("/data/file", { recursive: true })],
    ["EEXIST", "a mount is made", (fs) => fs.mkdir("/data")],
    ["EISDIR", "a folder is read", (fs) => fs.readFile("/data/folder")],
    ["EISDIR", "a folder is written", (fs) => fs.writeFile("/data/folder", "")],
    ["EISDIR", "a folder is unlinked", (fs) => fs.unlink("/data/folder")],
    ["EISDIR", "a folder is removed as if it were a file", (fs) => fs.rm("/data/folder")],
    ["EISDIR", "/ is read", (fs) => fs.readFile("/")],
    ["EISDIR", "a new file's path ends in a slash", (fs) => fs.writeFile("/data/new/", "")],
    ["ENOTDIR", "a file is listed", (fs) => fs.readdir("/data/file")],
    ["ENOTDIR", "a path leads through a file", (fs) => fs.readFile("/data/file/x")],
    ["ENOTDIR", "folders are made through a file", (fs) => fs.mkdir("/data/file/x", { recursive: true })],
    ["ENOTDIR", "a file's path ends in a slash", (fs) => fs.readFile("/data/file/")],
    ["ENOTDIR", "a file is removed as if it were a folder", (fs) => fs.rmdir("/data/file")],
    ["ENOTEMPTY", "a folder with files is removed", (fs) => fs.rmdir("/data/folder")],
    ["ENOTEMPTY", "a folder is moved over one with files", (fs) => fs.rename("/data/empty", "/data/folder")],
    ["EINVAL", "a folder is moved into itself", (fs) => fs.rename("/data/folder", "/data/folder/x/y")],
    ["EINVAL", "a path holds a NUL byte", (fs) => fs.readFile("/data/file\0.txt")],
    ["ENAMETOOLONG", "a name is too long", (fs) => fs.readFile(`/data/${"x".repeat(300)}`)],
    ["ENAMETOOLONG", "a path is too long", (fs) => fs.readFile(`/data/${"x/".repeat(3_000)}`)],
    ["ENAMETOOLONG", "a path is too deep", (fs) => fs.readFile(`/data/${"x/".repeat(33)}`)],
    ["EXDEV", "something is moved to another mount", (fs) => fs.rename("/data/file", "/scratch/file")],
    ["EBUSY", "a mount is removed", (fs) => fs.rm("/data", { recursive: true })],
    ["EBUSY", "a mount is moved", (fs) => fs.rename("/data", "/data/x")],
  ])("give %s where %s", async (code, _what, operation) => {
    const { fs, folder } = await mounted({ files: { file: "", "folder/x/z": "" } });
    await fs.mkdir("/data/empty");
    expect(await codeOf(operation(fs))).toBe(code);
    expect(readdirSync(folder).toSorted()).toEqual(["empty", "file", "folder"]);
  });

  test("give errors as Node's, with the tool's own path", async () => {
    const { fs } = await mounted({ files: { x: "" } });
    await expect(fs.readFile("/data/./none")).rejects.toMatchObject({
      name: "Error",
      message: "ENOENT: no such file or directory, open '/data/./none'",
      code: "ENOENT",
      syscall: "open",
      path: "/data/./none",
    });
    await expect(fs.rename("/data/none", "/data/y")).rejects.toMatchObject({
      message: "ENOENT: no such file or directory, rename '/data/none' -> '/data/y'",
      dest: "/data/y",
    });
    await expect(fs.readFile(7 as never)).rejects.toThrow("The path must be a string");
    await expect(fs.readFile("/data/x", "latin1")).rejects.toThrow("The only encoding there is is utf8");
  });

  test.each([
    "/data/a/../x",
    "/data/./x",
    "//data//x",
    "/../data/x",
    "/data/../../data/x",
    "data/x",
    "/data/none/../x",
  ])("are found by %s", async (form) => {
    const { fs } = await mounted({ files: { x: "here", "a/y": "" } });
    expect(await fs.readFile(form, "utf8")).toBe("here");
  });
});
