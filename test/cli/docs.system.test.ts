import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../kernel/tool/temporary.ts";
import { glovebox } from "./command.ts";

const DOCS = join(import.meta.dirname, "../../docs");

test("lists the pages of the documentation, and prints the one that is named", async () => {
  const folder = await temporaryFolder({});
  const [list, page, error] = await Promise.all([
    glovebox(folder, ["docs"]),
    glovebox(folder, ["docs", "how-to/policy"]),
    glovebox(folder, ["docs", "queue_full", "--json"]),
  ]);
  expect(list.stdout).toMatch(/^how-to\/policy +Write a policy$/m);
  expect(page.stdout).toBe(await readFile(join(DOCS, "how-to/policy.md"), "utf8"));
  expect(JSON.parse(error.stdout)).toMatchObject({ name: "reference/errors/queue_full" });
});

test("finds the pages that have all words, the best first, and ends with 1 where nothing is there", async () => {
  const folder = await temporaryFolder({});
  const [hits, none] = await Promise.all([
    glovebox(folder, ["docs", "write", "policy", "--json"]),
    glovebox(folder, ["docs", "xyzzyplugh"]),
  ]);
  expect((JSON.parse(hits.stdout) as { name: string }[])[0]?.name).toBe("how-to/policy");
  expect([none.code, none.stderr]).toEqual([1, "glovebox: no page has xyzzyplugh; glovebox docs lists all\n"]);
});
