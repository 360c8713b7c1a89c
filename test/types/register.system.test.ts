import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { MAIN } from "../server/served.ts";

const CONFIG = fileURLToPath(new URL("./tsconfig.json", import.meta.url));
const COMPILER = fileURLToPath(new URL("./bin/tsc", import.meta.resolve("typescript/package.json")));
const CACHE = fileURLToPath(new URL("../../node_modules/.cache/", import.meta.url));
const run = promisify(execFile);

const PROGRAM = `
import { createEngine, unwrap } from "glovebox";
import { createClient } from "glovebox/client";

const engine = await createEngine();
unwrap(await engine.execute({ name: "add", arguments: { a: 1, b: 2 } })).sum.toFixed();
// @ts-expect-error The tool's argument is markdown.
await engine.execute({ name: "markdown-to-html", arguments: { text: "# Hi" } });
const client = createClient({ url: "https://tools.example.com" });
unwrap(await client.tools["markdown-to-html"]({ markdown: "# Hi" })).html.trim();
// @ts-expect-error No tool has this name.
await client.execute({ name: "ad", arguments: { a: 1, b: 2 } });
`;

test("types that a file registers reach engines and clients without type arguments", async () => {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(path.join(CACHE, "register-"));
  try {
    const out = path.join(folder, "glovebox-tools.d.ts");
    await run(process.execPath, [...MAIN, "types", "--tools", "fixtures/tools", "--register", "--out", out]);
    await writeFile(path.join(folder, "program.ts"), PROGRAM);
    const config = { extends: CONFIG, compilerOptions: { rootDir: "../../.." }, include: ["."] };
    await writeFile(path.join(folder, "tsconfig.json"), JSON.stringify(config));
    const { stdout } = await run(process.execPath, [COMPILER, "-p", folder, "--pretty", "false"]).catch(
      (failed: { readonly stdout: string }) => failed,
    );
    expect(stdout).toBe("");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 300_000);
