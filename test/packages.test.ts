import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { files, importsOf, SRC } from "./source-files.ts";

/** Packages of `src`, each a folder, in their one order: a package imports from itself and from those before it. */
const PACKAGES = [
  "kernel",
  "python",
  "wasi",
  "fleet",
  "connectors",
  "code-mode",
  "contrib/agents",
  "contrib/amplifier",
  "contrib/agentspace",
  "contrib/strands",
  "contrib/xaibo",
  "standard",
  "testing",
  "server",
  "cli",
  "glovebox",
];
/** A registry of Strands that is given no engine starts the standard one. */
const AGAINST_THE_ORDER = ["contrib/strands/registry.ts → standard/create-engine.ts"];

const foldersOf = (folder: string): readonly string[] =>
  readdirSync(join(SRC, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

function packageOf(file: string): string {
  return PACKAGES.find((name) => file.startsWith(`${name}/`)) ?? "";
}

test("src has packages, and nothing else but its README", () => {
  const found = foldersOf("").flatMap((name) =>
    name === "contrib" ? foldersOf(name).map((one) => `${name}/${one}`) : [name],
  );
  expect(found.toSorted()).toEqual(PACKAGES.toSorted());
  expect(files.filter((file) => packageOf(file) === "")).toEqual([]);
});

test("each package has a README", () => {
  expect(PACKAGES.filter((name) => !existsSync(join(SRC, name, "README.md")))).toEqual([]);
});

test("a package imports only from the packages before it", () => {
  const placeOf = (file: string): number => PACKAGES.indexOf(packageOf(file));
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .filter((target) => placeOf(target) > placeOf(file))
      .map((target) => `${file} → ${target}`),
  );
  expect(wrong).toEqual(AGAINST_THE_ORDER);
});

test("no file of the kernel names a foreign contract", () => {
  const named = files.filter((file) => packageOf(file) === "kernel" && FOREIGN.test(codeOf(file)));
  expect(named).toEqual([]);
});

const FOREIGN = /amplifier|agentspace|strands|xaibo/i;
/** A file's text without its comments. */
function codeOf(file: string): string {
  return readFileSync(join(SRC, file), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}
