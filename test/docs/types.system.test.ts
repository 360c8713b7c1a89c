import { expect, test } from "vitest";
import { compile } from "../types/project.ts";
import { fileOf, readProgramPages, skipOf } from "./markdown.ts";

test("programs of pages compile under strict", async () => {
  // Each page is a folder, so that its programs find the files that it writes.
  const programs = readProgramPages().flatMap(({ path, blocks }) =>
    blocks
      .filter((block) => block.language === "ts" && skipOf(block) === undefined)
      .map((block) => [`${path.replaceAll("/", "_")}/${fileOf(block) ?? `line-${block.line}.ts`}`, block.text]),
  );
  expect(programs.length).toBeGreaterThan(90);
  expect(await compile({ ...Object.fromEntries(programs), "package.json": '{ "type": "module" }' })).toBe("");
}, 300_000);
