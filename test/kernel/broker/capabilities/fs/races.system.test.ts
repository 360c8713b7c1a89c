import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { descriptorFileHolder, type FileHolder } from "../../../../../src/kernel/broker/capabilities/fs/file-holder.ts";
import { codeOf, mounted, type Mounted, SECRET } from "./mounted.ts";

const SWAPS = fileURLToPath(new URL("programs/swaps.ts", import.meta.url));
const ROUNDS = 300;
/** The other process leaves this one little of a machine with few processors. */
const TIMEOUT_MS = 300_000;
const INSIDE = "what lies inside";

/** A mount whose `folder` and `file` are links to the outside every other moment. */
async function swapping(holder: FileHolder | undefined): Promise<Mounted> {
  const mount = await mounted({
    ...(holder === undefined ? {} : { holder }),
    files: { "folder/secret.txt": INSIDE, "folder/sub/secret.txt": INSIDE, file: INSIDE },
    limits: { callBytes: Infinity },
  });
  const { folder, outside } = mount;
  symlinkSync(outside, path.join(folder, "folder-link"));
  symlinkSync(path.join(outside, "secret.txt"), path.join(folder, "file-link"));
  const child = spawn(process.execPath, ["--no-warnings", SWAPS, folder], { stdio: ["ignore", "pipe", "inherit"] });
  const exit = once(child, "exit");
  onTestFinished(async () => {
    expect(child.kill("SIGKILL"), "it swaps to the end").toBe(true);
    await exit;
  });
  await once(child.stdout, "data");
  return mount;
}

/** What the operations came to, by how often. */
async function repeat(operations: readonly (() => Promise<unknown>)[]): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(
      operations.map(async (operation) => {
        const code = await codeOf(operation());
        seen.set(code, (seen.get(code) ?? 0) + 1);
      }),
    );
  }
  return seen;
}

/** Those of local folders, and of all others. */
const HOLDERS = [
  ["on this thread", undefined],
  ["by descriptors on other threads", descriptorFileHolder],
] as const;

describe.runIf(process.platform === "linux").each(HOLDERS)("files held %s", (_, holder) => {
  test(
    "swaps never lead a reader out of its mount",
    async () => {
      const { fs, heard } = await swapping(holder);
      const read = async (name: string) => {
        const text = await fs.readFile(name, "utf8");
        if (text !== INSIDE) throw new Error(`read ${String(text)}`);
      };
      const seen = await repeat([
        () => read("/data/folder/secret.txt"),
        () => read("/data/folder/sub/secret.txt"),
        () => read("/data/file"),
        () => read("/data/file"),
        () => fs.readdir("/data/folder"),
        () => fs.readdir("/data/", { recursive: true }),
      ]);
      expect(heard().includes(SECRET)).toBe(false);
      expect(
        [...seen.keys()].filter((code) => !["ok", "denied", "ENOENT", "EINVAL", "ENOTDIR"].includes(code)),
      ).toEqual([]);
      // Both sides of the swap were met, so the race was run.
      expect(seen.get("ok")).toBeGreaterThan(0);
      expect(seen.get("denied")).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  test(
    "swaps never lead a writer out of its mount",
    async () => {
      const { fs, outside } = await swapping(holder);
      writeFileSync(path.join(outside, "only-outside"), SECRET);
      let names = 0;
      const seen = await repeat([
        () => fs.writeFile("/data/folder/secret.txt", "overwritten"),
        () => fs.writeFile("/data/file", "overwritten"),
        () => fs.appendFile("/data/file", "added"),
        () => fs.writeFile(`/data/folder/new-${++names}`, "", { flag: "wx" }),
        () => fs.mkdir(`/data/folder/made-${++names}`),
        () => fs.copyFile("/data/file", "/data/folder/secret.txt"),
        () => fs.rename("/data/folder/secret.txt", "/data/folder/moved"),
        () => fs.unlink("/data/folder/only-outside"),
        () => fs.rm("/data/folder/only-outside", { force: true }),
        () => fs.truncate("/data/file", 1),
      ]);
      expect(readdirSync(outside).toSorted()).toEqual(["only-outside", "secret.txt"]);
      for (const name of readdirSync(outside)) expect(readFileSync(path.join(outside, name), "utf8")).toBe(SECRET);
      expect(seen.get("ok")).toBeGreaterThan(0);
      expect(seen.get("denied")).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
