/** Writes the pages that come from tables in the code. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { generatedPages } from "./pages.ts";

const DOCS = fileURLToPath(new URL("..", import.meta.url));

const pages = await generatedPages();
// Pages of codes that are gone go as well.
await rm(join(DOCS, "reference/errors"), { recursive: true, force: true });
for (const [name, text] of pages) {
  await mkdir(dirname(join(DOCS, name)), { recursive: true });
  await writeFile(join(DOCS, name), text);
}
console.log(`${pages.size} pages in docs`);
