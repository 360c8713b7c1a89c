import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFs } from "../../../../../src/kernel/broker/capabilities/fs/fs.ts";
import { codeOf, mounted } from "./mounted.ts";

const scratches = () => readdirSync(tmpdir()).filter((name) => name.startsWith("glovebox-scratch-"));
const own = () => scratches().filter((name) => name.includes(`-${process.pid}-`));

test("a scratch folder is made when it is first used, and goes when the call ends", async () => {
  const { fs, end } = await mounted();
  await fs.readdir("/data");
  expect(own()).toEqual([]);
  await fs.mkdir("/scratch/a/b", { recursive: true });
  await fs.writeFile("/scratch/a/b/x", "content");
  expect(await fs.readFile("/scratch/a/b/x", "utf8")).toBe("content");
  const [name = ""] = own();
  expect(own()).toHaveLength(1);
  expect(statSync(path.join(tmpdir(), name)).mode & 0o777).toBe(0o700);
  await end();
  expect(own()).toEqual([]);
});

test("each call has a scratch folder of its own, empty when it comes", async () => {
  const [one, other] = [await mounted(), await mounted()];
  await one.fs.writeFile("/scratch/x", "of one");
  expect(await other.fs.readdir("/scratch")).toEqual([]);
  expect(await codeOf(other.fs.readFile("/scratch/x"))).toBe("ENOENT");
});

test("a scratch folder goes also where its call ends in the midst of writing", async () => {
  const { fs, end } = await mounted();
  const writes = Array.from({ length: 100 }, (_, at) => codeOf(fs.writeFile(`/scratch/${at}`, "x".repeat(100_000))));
  await Promise.race(writes);
  await end();
  expect(own()).toEqual([]);
  await Promise.all(writes);
  expect(own()).toEqual([]);
});

test("what a host left that was killed is removed by another, and what belongs to a living one is not", async () => {
  const space = process.platform === "linux" ? (/\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0") : "0";
  const { pid: dead } = spawnSync(process.execPath, ["--version"]);
  const make = (name: string) => {
    const folder = mkdtempSync(path.join(tmpdir(), name));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  };
  const left = make(`glovebox-scratch-${space}-${dead}-`);
  const living = make(`glovebox-scratch-${space}-${process.ppid}-`);
  const elsewhere = make(`glovebox-scratch-1${space}-${dead}-`);
  const { fs, end } = await mounted();
  await fs.readdir("/scratch");
  await end();
  expect([left, living, elsewhere].map((folder) => existsSync(folder))).toEqual([false, true, true]);
});

describe("the scratch folders of all calls", () => {
  /** Two calls of one host, and what each of their writes ends with. */
  function twoCalls(scratchBytesInAll: number) {
    const fs = createFs({ limits: { scratchBytesInAll } });
    const granted = fs.grants.read({ scratch: { mode: "rw" } }, "policy");
    const open = () => {
      const callTool = () => Promise.reject(new Error("there are no other tools"));
      const { signal } = new AbortController();
      const call = fs.open({ callId: "c", tool: "t", signal, callTool, grantsOf: () => [] }, [granted]);
      const ask = (method: string, args: object) => codeOf(Promise.resolve(call.invoke(method, args, 1)));
      onTestFinished(() => call.close?.());
      return {
        write: (bytes: number) => ask("writeFile", { path: "/scratch/x", data: { text: "x".repeat(bytes) } }),
        grow: (length: number) => ask("truncate", { path: "/scratch/x", length }),
        call,
      };
    };
    onTestFinished(() => fs.close?.());
    return [open(), open()] as const;
  }

  test("hold no more together than the limit, whoever wrote it", async () => {
    const [one, other] = twoCalls(100);
    expect([await one.write(60), await other.write(41), await other.write(40)]).toEqual(["ok", "limit", "ok"]);
    expect([await one.write(1), await other.grow(41)]).toEqual(["limit", "limit"]);
    await expect(other.call.invoke("writeFile", { path: "/scratch/y", data: { text: "x" } }, 1)).rejects.toMatchObject({
      refused: { granted: "100 bytes in the scratch folders of all calls together" },
    });
  });

  test("have room again when calls end", async () => {
    const [one, other] = twoCalls(100);
    expect([await one.write(100), await other.write(100)]).toEqual(["ok", "limit"]);
    await one.call.close?.();
    expect([await other.write(100), await other.write(1)]).toEqual(["ok", "limit"]);
  });
});
