import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";

const CLIENT = fileURLToPath(new URL("../../../src/server/client/client.ts", import.meta.url));
/** How integers of more than 53 bits are read. */
const EXACT_JSON = "src/kernel/base/exact-json.ts";
const GZIP_MAX_BYTES = 3 * 1024;

test("the client imports one file that imports nothing, and is small in a browser's bundle", async () => {
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
  expect(Object.keys(metafile.inputs).toSorted()).toEqual([EXACT_JSON, "src/server/client/client.ts"]);
  const [file] = outputFiles;
  expect(gzipSync(file?.contents ?? "").length).toBeLessThanOrEqual(GZIP_MAX_BYTES);
});
