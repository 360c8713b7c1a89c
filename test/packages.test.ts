import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { files, importsOf, SRC } from "./source-files.ts";

/** Packages of `src` by the paths of their files; the first that fits. The kernel is all else: it runs calls, and knows no package. */
const PACKAGES: readonly (readonly [name: string, paths: RegExp])[] = [
  ["glovebox", /^(?:index|tool\/contracts\/index|ecosystems\/(?:plugins|create-engine))\.ts$/],
  ["cli", /^service\/cli\//],
  ["server", /^service\//],
  ["testing", /^ecosystems\/(?:testing|validation)\//],
  [
    "agents",
    /^(?:ecosystems\/adapters|guest\/libraries)\/|^tool\/contracts\/(?:openai-|anthropic|gemini|ai-|call-tools)/,
  ],
  [
    "amplifier",
    /^ecosystems\/(?:amplifier|tools|reference)|^(?:tool|guest)\/contracts\/(?:amplifier|hooks|coordinator)/,
  ],
  ["agentspace", /^ecosystems\/agentspace\/|^(?:tool|guest)\/contracts\/agentspace/],
  ["strands", /^ecosystems\/strands\/|^(?:tool|guest)\/contracts\/strands/],
  ["xaibo", /^ecosystems\/xaibo\/|^(?:tool|guest)\/contracts\/xaibo/],
  ["code-mode", /^code-mode\//],
  ["fleet", /^(?:fleet|store\/redis)\/|^(?:store|broker)\/.*redis/],
  ["python", /^(?:guest|tool\/runtimes|executor\/worker)\/python\//],
  [
    "wasi",
    /^guest\/contracts\/binary|^(?:guest\/(?:wasi|native)|tool\/runtimes\/(?:wasi|native)|executor\/worker\/wasi|broker\/capabilities\/native)\/|^base\/wasm\/wasm-component/,
  ],
  [
    "connectors",
    /^(?:(?:tool|engine)\/connectors|guest\/remote|broker\/(?:login|capabilities\/connector)|store\/logins)\//,
  ],
];
const KERNEL = "kernel";

function packageOf(file: string): string {
  return PACKAGES.find(([, paths]) => paths.test(file))?.[0] ?? KERNEL;
}

/** `tool/load.ts → wasi` for each package that a file of the kernel imports. */
function importedByKernel(): readonly string[] {
  const kernel = files.filter((file) => packageOf(file) === KERNEL);
  const found = kernel.flatMap((file) => importsOf(file).map((target) => `${file} → ${packageOf(target)}`));
  return [...new Set(found)].filter((arrow) => !arrow.endsWith(KERNEL)).toSorted();
}

test("the kernel imports no package", () => {
  expect(importedByKernel()).toEqual([]);
});

test("no file of the kernel names a foreign contract", () => {
  const named = files.filter((file) => packageOf(file) === KERNEL && FOREIGN.test(codeOf(file)));
  expect(named).toEqual([]);
});

const FOREIGN = /amplifier|agentspace|strands|xaibo/i;
/** A file's text without its comments. */
function codeOf(file: string): string {
  return readFileSync(join(SRC, file), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}
