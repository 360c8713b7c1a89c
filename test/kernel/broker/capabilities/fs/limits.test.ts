import { readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { codeOf, mounted } from "./mounted.ts";

describe("one operation", () => {
  test("reads no more than its limit, and says how to read more", async () => {
    const { fs, heard } = await mounted({ files: { x: "x".repeat(101) }, limits: { operationBytes: 100 } });
    expect(await codeOf(fs.readFile("/data/x"))).toBe("limit");
    expect(heard()).toContain("100 bytes in one operation");
    expect(heard()).toContain("readFile(path, { position, length })");
    expect(await codeOf(fs.readFile("/data/x", { length: 101 }))).toBe("limit");
    expect(await fs.readFile("/data/x", { length: 100 })).toHaveLength(100);
    expect(await fs.readFile("/data/x", { position: 100, length: 1_000_000_000 })).toHaveLength(1);
  });

  test.runIf(process.platform === "linux")("reads no more where a file does not know its size", async () => {
    const { fs } = await mounted({ more: { proc: { path: "/proc", mode: "ro" } }, limits: { operationBytes: 100 } });
    expect((await fs.stat("/proc/meminfo")).size).toBe(0);
    expect(await codeOf(fs.readFile("/proc/meminfo"))).toBe("limit");
    expect(await fs.readFile("/proc/meminfo", { length: 8, encoding: "utf8" })).toBe("MemTotal");
  });

  test("writes no more than its limit, and leaves what was there", async () => {
    const { fs, folder } = await mounted({ files: { x: "before" }, limits: { operationBytes: 100 } });
    expect(await codeOf(fs.writeFile("/data/x", "é".repeat(51)))).toBe("limit");
    expect(await codeOf(fs.writeFile("/data/x", new Uint8Array(101)))).toBe("limit");
    expect(await codeOf(fs.truncate("/data/x", 107))).toBe("limit");
    expect(statSync(path.join(folder, "x")).size).toBe(6);
    await fs.writeFile("/data/x", "é".repeat(50));
    writeFileSync(path.join(folder, "big"), "x".repeat(101));
    expect(await codeOf(fs.copyFile("/data/big", "/data/x"))).toBe("limit");
    expect(statSync(path.join(folder, "x")).size).toBe(100);
  });

  test("lists and removes no more than its limit", async () => {
    const files = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`${at % 2}/${at}`, ""]));
    const { fs } = await mounted({ files, limits: { entries: 7 } });
    expect(await fs.readdir("/data/0")).toHaveLength(3);
    expect(await codeOf(fs.readdir("/data", { recursive: true }))).toBe("limit");
    expect(await codeOf(fs.rm("/data/0", { recursive: true }))).toBe("ok");
    expect(await fs.readdir("/data", { recursive: true })).toHaveLength(4);
  });

  test("goes no deeper than its limit", async () => {
    const { fs } = await mounted({ files: { "a/b/c/d/e": "" }, limits: { depth: 3 } });
    expect(await codeOf(fs.readdir("/data", { recursive: true }))).toBe("limit");
    expect(await codeOf(fs.rm("/data/a", { recursive: true }))).toBe("ok");
  });
});

describe("one call", () => {
  test("reads and writes no more than its limit, copies included", async () => {
    const { fs, folder } = await mounted({ files: { x: "x".repeat(40) }, limits: { callBytes: 100 } });
    await fs.readFile("/data/x");
    expect(await codeOf(fs.copyFile("/data/x", "/data/y"))).toBe("limit");
    expect(await codeOf(fs.writeFile("/data/x", "y"))).toBe("limit");
    expect(statSync(path.join(folder, "x")).size).toBe(40);
  });

  test("fills its scratch folder neither with bytes nor with files", async () => {
    const { fs } = await mounted({ limits: { callBytes: 100, scratchEntries: 3 } });
    await fs.mkdir("/scratch/a/b", { recursive: true });
    await fs.writeFile("/scratch/x", "x".repeat(60));
    await fs.writeFile("/scratch/x", "again");
    expect(await codeOf(fs.writeFile("/scratch/y", ""))).toBe("limit");
    expect(await codeOf(fs.mkdir("/scratch/y"))).toBe("limit");
    await fs.writeFile("/data/y", "");
    expect(await codeOf(fs.truncate("/scratch/x", 90))).toBe("limit");
  });

  test.runIf(process.platform === "linux")("has a few operations under way, and the rest waits", async () => {
    const { fs } = await mounted({ files: { x: "x".repeat(1_000) } });
    const count = () => readdirSync("/proc/self/fd").length;
    const before = count();
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, count())));
    await Promise.all(Array.from({ length: 500 }, () => fs.readFile("/data/x")));
    clearInterval(watch);
    // Four operations hold at most four descriptors each.
    expect(most - before).toBeLessThanOrEqual(16);
  });

  test("that has ended does nothing more", async () => {
    const { fs, folder, end } = await mounted({ files: { x: "" } });
    const writes = Array.from({ length: 200 }, (_, at) => codeOf(fs.writeFile(`/data/new-${at}`, "x")));
    await end();
    const made = readdirSync(folder).length;
    expect(made).toBeLessThan(200);
    await Promise.all(writes);
    expect(await codeOf(fs.writeFile("/data/x", "late"))).not.toBe("ok");
    expect(readdirSync(folder)).toHaveLength(made);
  });
});

test.runIf(process.platform === "linux")("no descriptor is left open, however operations end", async () => {
  const { fs } = await mounted({
    files: { "a/x": "content", "a/b/y": "" },
    limits: { operationBytes: 10, entries: 2 },
  });
  const operations = (): Promise<unknown>[] => [
    fs.readFile("/data/a/x"),
    fs.readFile("/data/a/x/y"),
    fs.readFile("/data/none/x"),
    fs.readFile("/data/a"),
    fs.readFile("/etc/passwd"),
    fs.readdir("/data/a"),
    fs.readdir("/data", { recursive: true }),
    fs.writeFile("/data/a/x", "new"),
    fs.writeFile("/fixed/a/x", "new"),
    fs.writeFile("/data/a/x", "new", { flag: "wx" }),
    fs.writeFile("/data/a/x", "n".repeat(11)),
    fs.copyFile("/data/a/x", "/data/none/x"),
    fs.copyFile("/data/a/x", "/data/a/x"),
    fs.rename("/data/a/x", "/data/none/x"),
    fs.rename("/data/a", "/data/a/b/c"),
    fs.mkdir("/data/a/b/c", { recursive: true }),
    fs.rm("/data/a/b/c", { recursive: true }),
    fs.stat("/data/a/x/"),
    fs.truncate("/data/a/b"),
  ];
  await Promise.allSettled(operations());
  const before = readdirSync("/proc/self/fd").length;
  for (let round = 0; round < 20; round++) await Promise.allSettled(operations());
  expect(readdirSync("/proc/self/fd")).toHaveLength(before);
});
