import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { MAIN } from "../server/served.ts";
import { compile } from "./project.ts";

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
  const folder = await mkdtemp(join(tmpdir(), "glovebox-register-"));
  try {
    const out = join(folder, "glovebox-tools.d.ts");
    await run(process.execPath, [...MAIN, "types", "--tools", "fixtures/tools", "--register", "--out", out]);
    const files = { "glovebox-tools.d.ts": await readFile(out, "utf8"), "program.ts": PROGRAM };
    expect(await compile(files)).toBe("");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 300_000);
