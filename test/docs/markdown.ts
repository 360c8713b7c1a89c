import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow } from "../source-files.ts";
import { ROOT } from "./linked-folder.ts";

/** The pages of alerts. */
export const RUNBOOKS = "docs/how-to/runbooks/";

/** A block of code in a page. */
export interface Block {
  readonly language: string;
  /** What stands behind the language: `file=main.ts`, `skip="why"`. */
  readonly info: string;
  readonly text: string;
  /** Its first line, from 1. */
  readonly line: number;
}

export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

/** A command of a block, and the lines that it prints; `…` stands for anything. */
export interface Command {
  readonly line: string;
  readonly prints: readonly string[];
}

/** All pages that people read: the project's own, the documents, the examples, and the packages' guides. */
export function readPages(): readonly Page[] {
  const below = (folder: string) =>
    filesBelow(join(ROOT, folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${folder}/${name}`);
  const ofProject = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
  const found = ofProject.filter((name) => existsSync(join(ROOT, name)));
  return [...found, ...below("docs"), ...below("examples"), ...below("src")].map(readPage);
}

/** The pages whose programs are compiled and run: those that people read, and what earlier ones had. */
export function readProgramPages(): readonly Page[] {
  return [...readPages(), readPage("fixtures/programs/before-types.md")];
}

/** A page by its path from the root. */
export function readPage(path: string): Page {
  const text = readFileSync(join(ROOT, path), "utf8");
  return { path, text, blocks: blocksOf(text) };
}

function blocksOf(text: string): readonly Block[] {
  return [...text.matchAll(/^( *)(`{3,})([\w+-]*) ?(.*)\n([\s\S]*?)^\1\2$/gm)].map(
    ({ index, 1: indent = "", 3: language = "", 4: info = "", 5: code = "" }) => ({
      language,
      info,
      text: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
      line: text.slice(0, index).split("\n").length,
    }),
  );
}

/** The file that a block is, by `file=name` or `tool=name`. */
export function fileOf({ info }: Block): string | undefined {
  return /(?:^| )(?:tool|file)=(\S+)/.exec(info)?.[1];
}

/** Why a block is not checked, by `skip="why"`. */
export function skipOf({ info }: Block): string | undefined {
  return /(?:^| )skip="([^"]+)"/.exec(info)?.[1];
}

/** The lines that a program says it prints. */
export function printsOf({ text }: Block): readonly string[] {
  return [...text.matchAll(/\/\/ prints: (.*)$/gm)].map(([, line = ""]) => line);
}

export function commandsOf({ text }: Block): readonly Command[] {
  const found: { line: string; prints: string[] }[] = [];
  for (const line of text.replaceAll("\\\n", " ").split("\n")) {
    if (line === "#" || line.startsWith("# ")) found.at(-1)?.prints.push(line.slice(2));
    else if (line.trim() !== "") found.push({ line: line.replace(/ {2,}# .*$/, ""), prints: [] });
  }
  return found;
}

/** A page without its blocks of code. */
export function proseOf({ text }: Page): string {
  return text.replaceAll(/^( *)(`{3,})[\s\S]*?^\1\2$/gm, "");
}

/** A pattern for a line in which `…` stands for anything. */
export function pattern(line: string): RegExp {
  return new RegExp(
    `^${line
      .split("…")
      .map((part) => RegExp.escape(part))
      .join("[\\s\\S]*")}$`,
    "m",
  );
}

/** Printed lines in the words of a page, where they fit the page's line of the same place. */
export function asSaid(printed: string, said: readonly string[]): readonly string[] {
  return printed
    .trimEnd()
    .split("\n")
    .map((line, at) => {
      const expected = said[at];
      return expected !== undefined && pattern(expected).test(line) ? expected : line;
    });
}
