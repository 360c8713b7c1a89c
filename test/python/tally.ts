import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { WheelParts } from "./build-wheel.ts";

const FOLDER = new URL("../../fixtures/wheels/tally/", import.meta.url);
export const TAG = "cp312-abi3-pyemscripten_2026_0_wasm32";
/** Name of the wheel's file in a folder of wheels. */
export const TALLY = `tally-1.0-${TAG}.whl`;

const read = (name: string): Buffer => readFileSync(fileURLToPath(new URL(name, FOLDER)));

export const WHEEL = `Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: ${TAG}\n`;
/** The library that the extension needs. */
export const counting = read("counting.so");

/** A wheel with machine code: an extension in C, and the library that it needs, beside it or not at all. */
export function tallyWheel(isWhole = true): WheelParts {
  const files = { "tally/__init__.py": read("__init__.py"), "tally/_tally.abi3.so": read("_tally.abi3.so") };
  return {
    name: "tally",
    files: isWhole ? { ...files, "tally.libs/counting.so": counting } : files,
    wheel: WHEEL,
  };
}
