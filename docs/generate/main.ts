/** Writes the reference pages that come from tables in the code. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { referencePages } from "./pages.ts";

const REFERENCE = fileURLToPath(new URL("../reference", import.meta.url));

const pages = await referencePages();
// Pages of codes that are gone go as well.
await rm(join(REFERENCE, "errors"), { recursive: true, force: true });
for (const [name, text] of pages) {
  await mkdir(dirname(join(REFERENCE, name)), { recursive: true });
  await writeFile(join(REFERENCE, name), text);
}
console.log(`${pages.size} pages in docs/reference`);
