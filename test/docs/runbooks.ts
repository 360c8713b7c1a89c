/** The pages of the alerts. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./linked-folder.ts";
import { type Block, type Page, readPage, RUNBOOKS } from "./markdown.ts";

interface Runbook {
  readonly name: string;
  readonly page: Page;
  /** The alert's own query, as the page shows it. */
  readonly query: Block | undefined;
  /** The block of the first step, where that is a command or a query. */
  readonly first: Block | undefined;
}

const CAUSE = "## Find the cause";

export const runbooks: readonly Runbook[] = readdirSync(join(ROOT, RUNBOOKS))
  .filter((name) => name !== "index.md")
  .map((name) => runbookOf(name.replace(/\.md$/, "")));

function runbookOf(name: string): Runbook {
  const page = readPage(`${RUNBOOKS}${name}.md`);
  const lines = page.text.split("\n");
  const cause = lines.indexOf(CAUSE) + 1;
  const second = lines.findIndex((line, at) => at >= cause && /^(?:2\. |## )/.test(line)) + 1;
  const before = page.blocks.filter(({ line }) => line < cause);
  const firsts = page.blocks.filter(({ line }) => line > cause && line < second);
  return {
    name,
    page,
    query: before.find(({ language }) => language === "promql"),
    first: firsts.length === 1 ? firsts[0] : undefined,
  };
}
