import { join } from "node:path";
import { expect, test } from "vitest";
import { compile, ROOT } from "./project.ts";

test("the published declarations of the typed API compile with TypeScript 6.0 as well", async () => {
  const include = ["typed-api.ts", "client.ts"].map((name) => join(ROOT, "test/types", name));
  expect(await compile({}, { include, typescript: "typescript-6" })).toBe("");
}, 300_000);
