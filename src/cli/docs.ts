import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { CliError, EXIT } from "./exit.ts";
import { print, printJson } from "./output.ts";

/** A page of the documentation. */
interface Page {
  /** `how-to/policy` */
  readonly name: string;
  readonly title: string;
  readonly text: string;
}

/** A page with the found words. */
interface Hit extends Pick<Page, "name" | "title"> {
  /** The first line that has one of them. */
  readonly line: string;
}

interface Options {
  readonly json?: true;
}

const FOLDER = fileURLToPath(new URL("../../docs", import.meta.url));
const HITS_MAX = 20;
const LINE_MAX = 120;
/** A word in a title counts as much as this many in the text. */
const TITLE_WEIGHT = 20;

/** `glovebox docs`: the documentation of the installed version, offline. */
export function docsCommand(): Command {
  return new Command("docs")
    .description("show the documentation of this version: its pages, one page, or the pages with these words")
    .argument("[words...]", "name of a page, such as how-to/policy or an error's code; or words to look for")
    .option("--json", "print JSON")
    .action(docs);
}

async function docs(words: readonly string[], { json }: Options): Promise<void> {
  const pages = await readPages();
  if (words.length === 0) {
    if (json === true) return printJson(pages.map(({ name, title }) => ({ name, title })));
    const width = Math.max(0, ...pages.map(({ name }) => name.length));
    for (const { name, title } of pages) print(`${name.padEnd(width)}  ${title}`);
    return;
  }
  const page = words.length === 1 ? find(pages, words[0] ?? "") : undefined;
  if (page !== undefined) return show(page, json === true);
  const hits = search(pages, words);
  if (json === true) printJson(hits);
  else for (const { name, title, line } of hits) print(`${name}: ${title}${line === "" ? "" : `\n  ${line}`}`);
  if (hits.length === 0) throw new CliError(EXIT.FAILED, `no page has ${words.join(" ")}; glovebox docs lists all`);
}

/** Prints the page of a name; returns whether there is one. */
export async function showPage(name: string, isJson: boolean): Promise<boolean> {
  const page = find(await readPages(), name);
  if (page !== undefined) show(page, isJson);
  return page !== undefined;
}

function show(page: Page, isJson: boolean): void {
  if (isJson) printJson(page);
  else print(page.text.trimEnd());
}

/** The pages, by their names. */
export async function readPages(): Promise<readonly Page[]> {
  const files = await readdir(FOLDER, { recursive: true }).catch(() => []);
  const pages = files.filter((file) => file.endsWith(".md")).toSorted();
  return Promise.all(
    pages.map(async (file) => {
      const text = await readFile(path.join(FOLDER, file), "utf8");
      const name = file.slice(0, -".md".length).split(path.sep).join("/");
      return { name, title: /^# (.+)$/m.exec(text)?.[1] ?? name, text };
    }),
  );
}

/** The page of a name, of which the folders may be left out. */
function find(pages: readonly Page[], word: string): Page | undefined {
  const name = word.replace(/^docs\//, "").replace(/\.md$/, "");
  const named = pages.filter((page) => page.name.endsWith(`/${name}`));
  return pages.find((page) => page.name === name) ?? (named.length === 1 ? named[0] : undefined);
}

/** The pages that have all words, those with most of them first. */
function search(pages: readonly Page[], words: readonly string[]): readonly Hit[] {
  const wanted = words.map((word) => word.toLowerCase());
  const scored = pages.flatMap(({ name, title, text }) => {
    const [lowTitle, lowText] = [`${name} ${title}`.toLowerCase(), text.toLowerCase()];
    const counts = wanted.map((word) => count(lowTitle, word) * TITLE_WEIGHT + count(lowText, word));
    if (counts.some((one) => one === 0)) return [];
    const lines = text.split("\n").filter((line) => !line.startsWith("# "));
    const line = lines.find((one) => wanted.some((word) => one.toLowerCase().includes(word)))?.trim() ?? "";
    const score = counts.reduce((all, one) => all + one, 0);
    return [{ name, title, line: line.length > LINE_MAX ? `${line.slice(0, LINE_MAX)}…` : line, score }];
  });
  const best = scored.toSorted((one, other) => other.score - one.score).slice(0, HITS_MAX);
  return best.map(({ score: _score, ...hit }) => hit);
}

function count(text: string, word: string): number {
  return word === "" ? 0 : text.split(word).length - 1;
}
