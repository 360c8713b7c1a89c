import { build } from "esbuild";
import { isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { PACKAGES } from "../../../../src/kernel/executor/process/permissions.ts";

test("an executor process may read every package that it loads, also where each has a folder of its own", async () => {
  const entries = ["process/child.ts", "worker/entry.ts"].map((file) =>
    fileURLToPath(new URL(`../../../../src/kernel/executor/${file}`, import.meta.url)),
  );
  const { metafile } = await build({
    entryPoints: entries,
    outdir: "nowhere",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const loaded = Object.values(metafile.outputs).flatMap(({ imports }) =>
    imports.filter(({ external, kind }) => external === true && kind === "import-statement").map(({ path }) => path),
  );
  const names = loaded.filter((name) => !isBuiltin(name)).map((name) => name.split("/")[0] ?? "");
  expect([...new Set(names)].toSorted()).toEqual(Object.keys(PACKAGES).toSorted());
});
