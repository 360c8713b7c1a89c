import { execFileSync } from "node:child_process";
import { existsSync, linkSync, lstatSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { descriptorFileHolder, pathFileHolder } from "../../../../../src/kernel/broker/capabilities/fs/file-holder.ts";
import { codeOf, mounted as mountedWith, type Mounted, SECRET } from "./mounted.ts";

const GRIPS = [
  ["paths", pathFileHolder],
  // Other systems have no such descriptors.
  ...(process.platform === "linux" ? [["descriptors", descriptorFileHolder] as const] : []),
] as const;

describe.each(GRIPS)("links in a mount that is held by %s", (_, holder) => {
  /** Every kind of link that there can be. */
  async function mounted(): Promise<Mounted> {
    const mount = await mountedWith({ holder, files: { "a/b/x": "inside", "a/y": "why" } });
    const { folder, outside } = mount;
    const link = (target: string, name: string) => symlinkSync(target, path.join(folder, name));
    link("a/b/x", "file");
    link("a", "folder");
    link("../../a/b", "a/b/around");
    link("folder/b/../y", "through");
    link(path.join(folder, "a", "y"), "absolute");
    link(folder, "whole");
    link(".", "here");
    link("file", "second");
    link("none", "dangling");
    link("loop", "loop");
    link("pong", "ping");
    link("ping", "pong");
    link("../outside", "up");
    link(outside, "out");
    link(path.join(outside, "secret.txt"), "secret");
    link("/", "root");
    link("/proc/self/fd", "descriptors");
    link("/proc/self/environ", "environment");
    link(`${folder}/../outside/secret.txt`, "absolute-up");
    link(`${folder}x`, "prefix");
    link("a/../../outside", "hidden-up");
    return mount;
  }

  test.each([
    ["/data/file", "inside"],
    ["/data/folder/y", "why"],
    ["/data/folder/b/x", "inside"],
    ["/data/a/b/around/x", "inside"],
    ["/data/a/b/around/around/around/x", "inside"],
    ["/data/through", "why"],
    ["/data/absolute", "why"],
    ["/data/whole/a/y", "why"],
    ["/data/here/here/here/a/y", "why"],
    ["/data/second", "inside"],
  ])("lead to what is inside: %s", async (name, content) => {
    const { fs } = await mounted();
    expect(await fs.readFile(name, "utf8")).toBe(content);
    expect((await fs.stat(name)).isFile()).toBe(true);
  });

  test.each([
    "/data/up/secret.txt",
    "/data/out/secret.txt",
    "/data/secret",
    "/data/root/etc/passwd",
    "/data/descriptors/0",
    "/data/environment",
    "/data/absolute-up",
    "/data/prefix",
    "/data/hidden-up/secret.txt",
    "/data/folder/b/around/../../../up/secret.txt",
  ])("never lead out: %s", async (name) => {
    const { fs, outside, heard } = await mounted();
    const operations = [
      fs.readFile(name),
      fs.writeFile(name, "overwritten"),
      fs.writeFile(`${name}-new`, "made"),
      fs.appendFile(name, "added"),
      fs.stat(name),
      fs.access(name),
      fs.readdir(path.posix.dirname(name), { recursive: true }),
      fs.truncate(name),
      fs.mkdir(`${name}/folder`, { recursive: true }),
      fs.copyFile(name, "/data/copied"),
      fs.copyFile("/data/a/y", name),
      fs.rename("/data/a/y", `${name}/moved`),
      fs.rm(`${name}/x`, { force: true, recursive: true }),
    ];
    await Promise.allSettled(operations);
    expect(readdirSync(outside)).toEqual(["secret.txt"]);
    expect(readFileSync(path.join(outside, "secret.txt"), "utf8")).toBe(SECRET);
    expect(heard().includes(SECRET)).toBe(false);
    expect(await codeOf(fs.readFile(name))).toBe("denied");
    expect(heard()).toContain("a link leads out of the mount");
  });

  test("are seen, moved and removed as what they are", async () => {
    const { fs, folder, outside } = await mounted();
    expect((await fs.lstat("/data/out")).isSymbolicLink()).toBe(true);
    await fs.rename("/data/out", "/data/moved");
    expect(lstatSync(path.join(folder, "moved")).isSymbolicLink()).toBe(true);
    await fs.rm("/data/moved", { recursive: true });
    await fs.unlink("/data/secret");
    await fs.rm("/data/folder");
    expect(existsSync(path.join(folder, "a/y"))).toBe(true);
    expect(readdirSync(outside)).toEqual(["secret.txt"]);
  });

  test("are not followed by what lists or removes all below", async () => {
    const { fs, folder, outside } = await mounted();
    const listed = await fs.readdir("/data", { recursive: true });
    expect(listed).toContain("out");
    expect(listed.filter((name) => /^(?:out|up|whole|root)\//.test(name))).toEqual([]);
    await fs.mkdir("/data/doomed");
    symlinkSync(outside, path.join(folder, "doomed", "out"));
    await fs.rm("/data/doomed", { recursive: true });
    expect(readdirSync(outside)).toEqual(["secret.txt"]);
  });

  test("end where they go in circles, or nowhere", async () => {
    const { fs, folder } = await mounted();
    expect(await codeOf(fs.readFile("/data/loop"))).toBe("ELOOP");
    expect(await codeOf(fs.writeFile("/data/ping", ""))).toBe("ELOOP");
    expect(await codeOf(fs.readFile("/data/dangling"))).toBe("ENOENT");
    await fs.writeFile("/data/dangling", "made");
    expect(readFileSync(path.join(folder, "none"), "utf8")).toBe("made");
    expect(await codeOf(fs.writeFile("/data/loop", "", { flag: "wx" }))).toBe("EEXIST");
  });

  test("are never made by tools", async () => {
    const { fs } = await mounted();
    await expect(fs.symlink("/etc/passwd", "/data/x")).rejects.toThrow("fs.symlink does not exist");
    await expect(fs.link("/data/x", "/data/y")).rejects.toThrow("fs.link does not exist");
  });

  test("that are hard ones are files like others", async () => {
    const { fs, folder, outside } = await mounted();
    linkSync(path.join(outside, "secret.txt"), path.join(folder, "hard"));
    expect(await fs.readFile("/data/hard", "utf8")).toBe(SECRET);
  });

  test("aside, pipes and sockets are neither read nor written, and nobody waits for them", async () => {
    const { fs, folder } = await mounted();
    execFileSync("sh", ["-c", 'mkfifo "$0"', path.join(folder, "pipe")]);
    const server = net.createServer().listen(path.join(folder, "socket"));
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    for (const name of ["/data/pipe", "/data/socket"]) {
      expect(await codeOf(fs.readFile(name))).toBe("denied");
      expect(await codeOf(fs.writeFile(name, "x"))).toBe("denied");
      expect(await codeOf(fs.appendFile(name, "x"))).toBe("denied");
      expect(await codeOf(fs.copyFile(name, "/data/copy"))).toBe("denied");
      expect(await codeOf(fs.truncate(name))).toBe("denied");
      const stats = await fs.stat(name);
      expect([stats.isFile(), stats.isDirectory(), stats.isSymbolicLink()]).toEqual([false, false, false]);
    }
  });

  test.runIf(process.platform === "linux")("that the kernel makes up are links like others", async () => {
    const { fs, heard } = await mountedWith({ holder, more: { proc: { path: "/proc", mode: "rw" } } });
    expect(await fs.readFile("/proc/self/comm", { encoding: "utf8", length: 1 })).toHaveLength(1);
    for (const name of ["root/etc/passwd", "cwd/package.json", "exe", "root", "task/../root/etc"]) {
      expect(await codeOf(fs.readFile(`/proc/self/${name}`, { length: 10 }))).toBe("denied");
    }
    expect(heard()).not.toContain("root:");
  });

  test("aside, devices are neither read nor written", async () => {
    const { fs } = await mountedWith({ holder, more: { dev: { path: "/dev", mode: "rw" } } });
    expect(await codeOf(fs.readFile("/dev/zero", { length: 10 }))).toBe("denied");
    expect(await codeOf(fs.writeFile("/dev/null", "x"))).toBe("denied");
  });
});
