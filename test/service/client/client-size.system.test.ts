import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";

const CLIENT = fileURLToPath(new URL("../../../src/service/client/client.ts", import.meta.url));
const GZIP_MAX_BYTES = 3 * 1024;

test("the client imports nothing, and is small in a browser's bundle", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [CLIENT],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    write: false,
    metafile: true,
  });
  expect(Object.keys(metafile.inputs)).toHaveLength(1);
  expect(readFileSync(CLIENT, "utf8")).not.toMatch(/^(?:import|export) (?!type\b).* from /m);
  const [file] = outputFiles;
  expect(gzipSync(file?.contents ?? "").length).toBeLessThanOrEqual(GZIP_MAX_BYTES);
});
