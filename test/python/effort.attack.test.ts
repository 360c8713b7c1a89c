import { describe, expect, test } from "vitest";
import { install } from "../../src/python/runtime/installation.ts";
import { parseRequirements } from "../../src/python/runtime/requirements.ts";
import { Wheels } from "../../src/python/runtime/wheels.ts";
import { newTree } from "../kernel/tool/package/opening.ts";
import { wheelFiles, type WheelParts } from "./build-wheel.ts";
import { problemOf } from "./refusal.ts";

async function problem(wheels: readonly WheelParts[], lines: readonly string[]): Promise<string> {
  const folder = new Wheels(await newTree(wheelFiles(...wheels)), 1024 * 1024);
  return problemOf(() => install(parseRequirements(lines.join("\n")), folder));
}

const times = <Value>(count: number, make: (at: number) => Value): Value[] =>
  Array.from({ length: count }, (_, at) => make(at));

describe("what takes long to choose is given up in words", () => {
  test("where many versions are held against many conditions", async () => {
    const wheels = times(60, (at) => ({ name: "many", version: `1.${at}` }));
    const lines = times(150, (at) => `many${`>=0.${at},`.repeat(50)}<2`);
    expect(await problem(wheels, [...lines, "many==3"])).toContain("take too long to resolve");
  });

  test("where a wheel asks for others under conditions, and is asked for extras without end", async () => {
    const metadata = times(300, (at) => `Requires-Dist: gone; extra == "x${at}"`);
    const lines = times(20, (at) => `many[${times(50, (extra) => `e${at * 50 + extra}`).join(",")}]`);
    expect(await problem([{ name: "many", metadata }], lines)).toContain("take too long to resolve");
  });
});
