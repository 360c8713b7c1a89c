import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const PROJECT = fileURLToPath(new URL(".", import.meta.url));
const COMPILER = fileURLToPath(new URL("./bin/tsc", import.meta.resolve("typescript-6/package.json")));

test("the typed API compiles with TypeScript 6.0 as well", async () => {
  const printed = await new Promise<string>((resolve) => {
    execFile(process.execPath, [COMPILER, "-p", PROJECT, "--noEmit", "--pretty", "false"], (_error, stdout) =>
      resolve(stdout),
    );
  });
  expect(printed).toBe("");
}, 300_000);
