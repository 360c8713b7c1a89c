import { writeFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { GloveboxError } from "../../../../src/kernel/base/errors.ts";
import { attributes, buildTar, buildTarGz } from "./build-tar.ts";
import { buildZip } from "./build-zip.ts";
import { Connections } from "../../../../src/kernel/broker/capabilities/fetch/connections.ts";
import { openPackage, type PackageContext } from "../../../../src/kernel/tool/package/open.ts";
import { resolvePackageOptions } from "../../../../src/kernel/tool/package/options.ts";
import { byLength } from "../../../length.ts";
import { filesIn, newFolder, watchTemporary } from "./opening.ts";

const FILES: Readonly<Record<string, string>> = {
  "code/function.js": "export default () => 1;\n".repeat(3),
  "code/lib/a.js": "export const a = 1;",
};
const CONTEXT: PackageContext = {
  options: resolvePackageOptions({}),
  projects: new Map(),
  connections: () => new Connections(),
  tell: () => {},
};
const PARTS = Object.entries(FILES).map(([name, data], at) => ({ name, data, isStored: at === 1 }));
const TAR = buildTar([attributes({ mtime: "1.5" }), ...PARTS]);

/** The files, or `null` where the archive was refused: whatever else happens fails the test. */
async function filesOf(file: string, bytes: Buffer): Promise<Record<string, string> | null> {
  await writeFile(file, bytes);
  const opened = await openPackage(file, CONTEXT).catch((error: unknown) => {
    if (error instanceof GloveboxError && error.code === "load_error") return null;
    throw error;
  });
  if (opened === null) return null;
  await using owned = opened;
  return await filesIn(owned.folder);
}

function flipped(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  const at = Math.floor(bit / 8) % copy.length;
  copy[at] = (copy[at] ?? 0) ^ (1 << (bit % 8));
  return copy;
}

test.each([
  ["tool.zip", byLength(13, 1), buildZip(PARTS)],
  ["tool.zip", byLength(29, 3), buildZip(PARTS, { wide: true })],
  ["tool.tar.gz", byLength(13, 1), buildTarGz(PARTS)],
])(
  "whatever single bit of %s is another (1 in %i), it is refused or holds the same files",
  { timeout: 120_000 },
  async (name, step, bytes) => {
    const [left, file] = [await watchTemporary(), path.join(await newFolder(), name)];
    let same = 0;
    for (let bit = 0; bit < bytes.length * 8; bit += step) {
      const files = await filesOf(file, flipped(bytes, bit));
      if (files === null) continue;
      same++;
      expect(files, `bit ${bit}`).toEqual(FILES);
    }
    expect(same).toBeLessThan(bytes.length * 4);
    expect(await left()).toEqual([]);
  },
);

const EDIT = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  remove: fc.nat(40),
  insert: fc.uint8Array({ maxLength: 40 }),
});

function edited(bytes: Buffer, edits: readonly { at: number; remove: number; insert: Uint8Array }[]): Buffer {
  return edits.reduce((now, { at, remove, insert }) => {
    const start = Math.floor(at * now.length);
    return Buffer.concat([now.subarray(0, start), insert, now.subarray(start + remove)]);
  }, bytes);
}

test.each([
  ["tool.zip", (edits: Parameters<typeof edited>[1]) => edited(buildZip(PARTS), edits)],
  ["tool.tar.gz", (edits: Parameters<typeof edited>[1]) => edited(buildTarGz(PARTS), edits)],
  // Behind gzip's checksum, where only what is in the archive itself can be wrong.
  ["tool.tgz", (edits: Parameters<typeof edited>[1]) => gzipSync(edited(TAR, edits))],
])(
  "whatever becomes of %s, it is refused or unpacked, and nothing is left",
  { timeout: 120_000 },
  async (name, make) => {
    const [left, file] = [await watchTemporary(), path.join(await newFolder(), name)];
    await fc.assert(
      fc.asyncProperty(fc.array(EDIT, { minLength: 1, maxLength: 4 }), async (edits) => {
        await filesOf(file, make(edits));
        expect(await left()).toEqual([]);
      }),
      { numRuns: byLength(50, 500) },
    );
  },
);

test("whatever bytes there are, they are refused, and nothing is left", async () => {
  const [left, folder] = [await watchTemporary(), await newFolder()];
  await fc.assert(
    fc.asyncProperty(fc.constantFrom("a.zip", "a.tgz"), fc.uint8Array({ maxLength: 2_000 }), async (name, bytes) => {
      expect(await filesOf(path.join(folder, name), Buffer.from(bytes))).toBeNull();
      expect(await left()).toEqual([]);
    }),
    { numRuns: byLength(50, 500) },
  );
});
