import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isWhole, sealImage, sweepImages } from "../../src/python/runtime/whole.ts";

let cache = "";
let image = "";

beforeEach(async () => {
  cache = mkdtempSync(path.join(tmpdir(), "glovebox-test-"));
  image = path.join(cache, "python-current");
  mkdirSync(image);
  writeFileSync(path.join(image, "snapshot.bin"), "memory");
  writeFileSync(path.join(image, "engine.js"), "code");
  await sealImage(image);
});

afterEach(() => rmSync(cache, { recursive: true, force: true }));

test("an image is whole as it was made", async () => {
  expect(await isWhole(image)).toBe(true);
});

test.each([
  ["is shorter", () => writeFileSync(path.join(image, "snapshot.bin"), "mem")],
  ["says something else", () => writeFileSync(path.join(image, "snapshot.bin"), "Memory")],
  ["is missing", () => rmSync(path.join(image, "engine.js"))],
  ["is one too many", () => writeFileSync(path.join(image, "other.js"), "code")],
])("an image is not whole where a file of it %s", async (_what, change) => {
  change();
  expect(await isWhole(image)).toBe(false);
});

test("an image that others may write to, or to which a link leads, is not used", async () => {
  symlinkSync(image, path.join(cache, "python-link"));
  expect(await isWhole(path.join(cache, "python-link"))).toBe(false);
  chmodSync(image, 0o722);
  expect(await isWhole(image)).toBe(false);
});

test("the images used last are kept, and those that are being made", async () => {
  for (const hour of [1, 2, 10, 20, 30, 40]) {
    for (const name of [`python-${hour}`, `making-${hour}`]) {
      const folder = path.join(cache, name);
      mkdirSync(folder);
      const usedMs = Date.now() - (hour - 0.5) * 3_600_000;
      utimesSync(folder, usedMs / 1_000, usedMs / 1_000);
    }
  }
  await sweepImages(cache, image);
  expect(readdirSync(cache).toSorted()).toEqual([
    "making-1",
    "python-1",
    "python-10",
    "python-2",
    "python-20",
    "python-current",
  ]);
});
