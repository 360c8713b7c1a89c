import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { ROOT } from "./linked-folder.ts";
import { fileOf, readProgramPages, skipOf } from "./markdown.ts";

const PATHS = Object.fromEntries(
  Object.entries(manifest.exports).flatMap(([entry, target]) =>
    typeof target === "string"
      ? []
      : [
          [
            entry.replace(".", "glovebox"),
            [join(ROOT, target.default.replace("./dist/", "src/").replace(/js$/, "ts"))],
          ],
        ],
  ),
);
const CONFIG = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: "esnext",
    lib: ["esnext"],
    module: "nodenext",
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
    moduleDetection: "force",
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    paths: PATHS,
  },
};

let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-types-"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("programs of pages compile under strict", async () => {
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(CONFIG));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const { path, blocks } of readProgramPages()) {
    for (const block of blocks) {
      if (block.language !== "ts" || skipOf(block) !== undefined) continue;
      // Each page is a folder, so that its programs find the files that it writes.
      const file = join(folder, path.replaceAll("/", "_"), fileOf(block) ?? `line-${block.line}.ts`);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, block.text);
    }
  }
  expect(await compile()).toBe("");
}, 300_000);

/** What the compiler says of the folder's files. */
function compile(): Promise<string> {
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  return new Promise((resolve) => {
    execFile(process.execPath, [tsc, "-p", folder], { cwd: folder }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}
