import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { buildPage } from "../../../src/server/console/build-page.ts";

const FOLDER = fileURLToPath(new URL("../../../src/server/console/page", import.meta.url));
const FIRST_MAX = 35 * 1024;
const ALL_MAX = 47 * 1024;

test("the scripts and styles of the first page are at most 35 KiB as they are sent, and those of all pages at most 47 KiB", async () => {
  const built = [...(await buildPage(FOLDER))].filter(([name]) => /\.(?:js|css)$/.test(name));
  const files = built.map(([name, contents]) => ({
    name,
    bytes: contents.byteLength,
    sent: brotliCompressSync(contents).byteLength,
  }));
  const sum = (those: typeof files, by: "bytes" | "sent"): number => those.reduce((total, file) => total + file[by], 0);
  // What is loaded later: all pages but the first.
  const first = files.filter(({ name }) => !name.startsWith("pages"));
  console.log(
    [["first page", first] as const, ["all pages", files] as const]
      .map(([name, those]) => `${name}: ${sum(those, "bytes")} bytes, ${sum(those, "sent")} as brotli`)
      .join("; "),
  );
  expect(first.length).toBe(files.length - 1);
  expect(sum(first, "sent")).toBeLessThanOrEqual(FIRST_MAX);
  expect(sum(files, "sent")).toBeLessThanOrEqual(ALL_MAX);
});
