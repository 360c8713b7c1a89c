import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };

const CHANGELOG = readFileSync(new URL("../CHANGELOG.md", import.meta.url), "utf8");
const released = [...CHANGELOG.matchAll(/^## (?!Unreleased$)(.*)$/gm)].map(([, heading = ""]) => heading);

test("each version has the day of its release, and the newest is first", () => {
  const days = released.map((heading) => /^\d+\.\d+\.\d+ - (\d{4}-\d\d-\d\d)$/.exec(heading)?.[1] ?? "");
  expect(days).not.toContain("");
  expect(days).toEqual(days.toSorted().toReversed());
});

test("the version of the package is the newest one", () => {
  expect(released[0]?.split(" ")[0]).toBe(manifest.version);
});
