import { describe, expect, test } from "vitest";
import { ERRNO, RIGHT } from "../../src/wasi/guest/abi.ts";
import { ALL_RIGHTS, READ, TestCommand, WRITE } from "./wasi-command.ts";

describe("the quota of a call's files", () => {
  test("a file's length without a sign gives back no more room than it has taken", () => {
    const command = new TestCommand();
    const file = command.open("out/x", { create: true, rights: WRITE });
    expect(command.setSize(file, 1_000n)).toBe(ERRNO.success);
    expect(command.setSize(file, -(2n ** 62n))).toBe(ERRNO.inval);
    expect(command.setSize(file, 1_000_000_000n)).toBe(ERRNO.nospc);
    expect(command.setSize(file, 0n)).toBe(ERRNO.success);
  });

  test("what a file gives back can be taken by another one, and no more", () => {
    const command = new TestCommand(0);
    const one = command.open("tmp/one", { create: true, rights: WRITE });
    const other = command.open("tmp/other", { create: true, rights: WRITE });
    expect(command.setSize(one, 1_000_000n)).toBe(ERRNO.success);
    expect(command.setSize(other, 1_000_000n)).toBe(ERRNO.nospc);
    expect(command.setSize(one, 10n)).toBe(ERRNO.success);
    expect(command.setSize(other, 1_000_000n)).toBe(ERRNO.success);
    expect(command.setSize(one, 1_000_000n)).toBe(ERRNO.nospc);
  });

  test("files, folders, links and further names count together, and removing them frees nothing", () => {
    const command = new TestCommand();
    command.create("file");
    let made = 1;
    for (; command.link("file", "name") === ERRNO.success; made += 3) {
      command.unlink("name");
      if (command.symlink("file", "name") !== ERRNO.success) break;
      command.unlink("name");
      if (command.folder("name") !== ERRNO.success) break;
      command.removeFolder("name");
    }
    expect(made).toBeGreaterThanOrEqual(997);
    expect(made).toBeLessThanOrEqual(1_000);
    expect(command.open("new", { create: true, rights: WRITE })).toBe(-ERRNO.nospc);
  });

  test("open descriptors have a limit, and a closed number is given again", () => {
    const command = new TestCommand();
    command.create("file");
    let last = 0;
    for (let fd = command.open("file"); fd >= 0; fd = command.open("file")) last = fd;
    expect(command.open("file")).toBe(-ERRNO.mfile);
    expect(last).toBe(999);
    command.close(7);
    expect(command.open("file")).toBe(7);
  });

  test("a file that shrinks and grows again has zeros where it was cut", () => {
    const command = new TestCommand();
    const file = command.open("file", { create: true, rights: WRITE });
    command.write(file, "abcdef");
    command.setSize(file, 5n);
    command.setSize(file, 6n);
    command.setSize(file, 1n);
    command.setSize(file, 3n);
    expect(command.read(command.open("file"))).toBe("a\0\0");
  });
});

describe("a path", () => {
  test.each([
    ["/etc/passwd", ERRNO.notcapable],
    ["..", ERRNO.notcapable],
    ["tmp/../../etc", ERRNO.notcapable],
    ["tmp\0", ERRNO.inval],
    ["", ERRNO.noent],
    ["x".repeat(256), ERRNO.nametoolong],
    ["x/".repeat(2_049), ERRNO.nametoolong],
    ["file/", ERRNO.notdir],
    ["file/.", ERRNO.notdir],
    ["file/x", ERRNO.notdir],
    ["none/x", ERRNO.noent],
  ])("%j is refused", (path, errno) => {
    const command = new TestCommand();
    command.create("file");
    expect(command.open(path)).toBe(-errno);
  });

  test("leaves no folder through which it is opened", () => {
    const command = new TestCommand();
    const tmp = command.open("tmp");
    expect(command.open("../out", { base: tmp })).toBe(-ERRNO.notcapable);
  });

  test("through a link leads where the link does", () => {
    const command = new TestCommand();
    command.folder("folder");
    const file = command.open("folder/file", { create: true, rights: WRITE });
    command.write(file, "text");
    expect(command.symlink("folder", "link")).toBe(ERRNO.success);
    expect(command.read(command.open("link/file"))).toBe("text");
    expect(command.open("link", { follow: false })).toBe(-ERRNO.loop);
  });

  test("through links that never end is refused", () => {
    const command = new TestCommand();
    command.symlink("b", "a");
    command.symlink("a", "b");
    expect(command.open("a")).toBe(-ERRNO.loop);
  });

  test.each(["/etc/passwd", "../x", "x/../../y"])("cannot be a link to %s, above its folder", (target) => {
    expect(new TestCommand().symlink(target, "tmp/link")).toBe(ERRNO.notcapable);
  });
});

describe("names", () => {
  test("of one file are counted, and the last keeps its bytes", () => {
    const command = new TestCommand();
    command.write(command.open("one", { create: true, rights: WRITE }), "text");
    expect(command.link("one", "two")).toBe(ERRNO.success);
    expect(command.linksOf("one")).toBe(2);
    expect(command.link("one", "two")).toBe(ERRNO.exist);
    command.unlink("one");
    expect(command.linksOf("two")).toBe(1);
    expect(command.read(command.open("two"))).toBe("text");
  });

  test("a folder has none inside of itself", () => {
    const command = new TestCommand();
    command.folder("a");
    command.folder("a/b");
    expect(command.rename("a", "a/b/c")).toBe(ERRNO.inval);
    expect(command.rename("a/b", "b")).toBe(ERRNO.success);
    expect(command.rename("a", "b/a")).toBe(ERRNO.success);
    expect(command.open("b/a")).toBeGreaterThan(0);
  });

  test("a file that is moved onto another one takes its place; a failed move changes nothing", () => {
    const command = new TestCommand();
    command.write(command.open("a", { create: true, rights: WRITE }), "a");
    command.create("b");
    command.folder("folder");
    expect(command.rename("a", "folder")).toBe(ERRNO.isdir);
    expect(command.rename("a", "b")).toBe(ERRNO.success);
    expect(command.open("a")).toBe(-ERRNO.noent);
    expect(command.read(command.open("b"))).toBe("a");
  });

  test("none can be made in a folder that was removed", () => {
    const command = new TestCommand();
    command.folder("gone");
    const gone = command.open("gone");
    expect(command.removeFolder("gone")).toBe(ERRNO.success);
    expect(command.open("file", { base: gone, create: true, rights: WRITE })).toBe(-ERRNO.noent);
  });
});

describe("a list of a folder", () => {
  test("goes on at its cookie, also after entries before it were removed", () => {
    const command = new TestCommand();
    for (let index = 0; index < 10; index++) command.create(`tmp/${index}`);
    const tmp = command.open("tmp");
    const seen: string[] = [];
    let cookie = 0n;
    for (let page = command.list(tmp, cookie, 80); page.length > 0; page = command.list(tmp, cookie, 80)) {
      for (const [name, next] of page) {
        seen.push(name);
        cookie = next;
        if (name !== "." && name !== "..") command.unlink(`tmp/${name}`);
      }
    }
    expect(seen).toEqual([".", "..", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
  });
});

describe("a descriptor", () => {
  test("reads and writes only what it was opened for", () => {
    const command = new TestCommand();
    const reads = command.open("file", { create: true, rights: READ });
    const writes = command.open("file", { rights: RIGHT.fdWrite });
    expect(command.write(reads, "x")).toBe(ERRNO.badf);
    expect(command.read(writes)).toBe(ERRNO.badf);
    expect(command.setSize(writes, 1n)).toBe(ERRNO.notcapable);
    expect(command.write(writes, "text")).toBe(ERRNO.success);
    expect(command.read(reads)).toBe("text");
  });

  test("gives up rights, and takes none again", () => {
    const command = new TestCommand();
    const file = command.open("file", { create: true, rights: WRITE });
    expect(command.setRights(file, READ)).toBe(ERRNO.success);
    expect(command.write(file, "x")).toBe(ERRNO.badf);
    expect(command.setRights(file, WRITE)).toBe(ERRNO.notcapable);
  });

  test("of a folder gives no more rights than it has to inherit", () => {
    const command = new TestCommand();
    const tmp = command.open("tmp", { inheriting: READ });
    const file = command.open("file", { base: tmp, create: true, rights: WRITE });
    expect(command.write(file, "x")).toBe(ERRNO.badf);
  });

  test("of a folder without the right to set sizes truncates no file", () => {
    const command = new TestCommand();
    command.create("tmp/file");
    const tmp = command.open("tmp", { rights: ALL_RIGHTS & ~RIGHT.fdWrite & ~RIGHT.pathSetSize });
    expect(command.open("file", { base: tmp, truncate: true })).toBe(-ERRNO.notcapable);
  });

  test("takes the number of another open one, and no other number", () => {
    const command = new TestCommand();
    const one = command.open("one", { create: true, rights: WRITE });
    const other = command.open("other", { create: true, rights: WRITE });
    expect(command.renumber(one, other + 1)).toBe(ERRNO.badf);
    expect(command.renumber(one, other)).toBe(ERRNO.success);
    expect(command.write(one, "x")).toBe(ERRNO.badf);
    expect(command.write(other, "x")).toBe(ERRNO.success);
    expect(command.read(command.open("one"))).toBe("x");
  });
});
