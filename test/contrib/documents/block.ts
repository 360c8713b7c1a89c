import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { PythonBench } from "../../python/bench.ts";

/** Surroundings in which a block runs. */
export interface World {
  readonly bench: PythonBench;
  /** All blocks of the document, in their order. */
  readonly texts: readonly string[];
}

/** A block of code of a document. */
export interface Block {
  /** How it begins, and, in a document without fences, how it ends. */
  readonly starts: string;
  readonly ends?: string;
  /** What stands before it, where its beginning alone is not unique. */
  readonly after?: string;
  /**
   * `program`: it runs. `input`: it is read as what it is for. `none`: it is no program, or one for something else; `why`
   * says so.
   */
  readonly is: "program" | "input" | "none";
  readonly why?: string;
  /** The file in `fixtures/contracts` that has it, for tests of their own. */
  readonly fixture?: string;
  /** Depth of each line, where the document has lost them. */
  readonly depths?: string;
  /** The number of the later block with which it runs. */
  readonly within?: number;
  readonly run?: (text: string, world: World) => Promise<void>;
}

/** A document with all of its blocks, in their order. */
export interface Document {
  readonly file: string;
  readonly isFenced: boolean;
  readonly blocks: readonly Block[];
}

const FENCED = /^```\w*\n(.*?)^```$/gms;
/** Lines that only a program has, as a document's prose would not. */
const CODE =
  /^\s*(?:import \w+$|from [\w.]+ import |(?:async )?def \w+\(|class \w+[(:]|return\b|@\w+|[{}[\]]|assert |(?:if|for|while|try|except|else)\b.*:$|(?:curl|zip|cd|go build|mkdir|mv) |\w+ = |"\w+": |await )/;

/** The texts of a document's blocks. Throws where a block is missing, and where code is in no block. */
export function blocksIn(folder: string, { file, isFenced, blocks }: Document): readonly string[] {
  const text = readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n");
  const texts = isFenced ? [...text.matchAll(FENCED)].map(([, found = ""]) => found) : between(text, blocks);
  for (const [at, found] of texts.entries()) {
    const starts = blocks[at]?.starts;
    if (starts === undefined || !found.startsWith(starts)) {
      throw new Error(
        `${file}: block ${at + 1}, which begins with ${JSON.stringify(found.slice(0, 60))}, is in no table`,
      );
    }
  }
  if (texts.length !== blocks.length)
    throw new Error(`${file} has ${texts.length} blocks, and its table ${blocks.length}`);
  return texts.map((found, at) => indented(found, blocks[at]?.depths));
}

/** Blocks of a page whose fences are lost. */
function between(text: string, blocks: readonly Block[]): readonly string[] {
  const prose: string[] = [];
  let at = 0;
  const texts = blocks.map(({ starts, ends = starts, after = "" }) => {
    const from = text.indexOf(starts, text.indexOf(after, at) + after.length);
    const end = text.indexOf(ends, from + starts.length - ends.length);
    if (from < 0 || end < 0)
      throw new Error(`there is no block from ${JSON.stringify(starts)} to ${JSON.stringify(ends)}`);
    prose.push(text.slice(at, from));
    at = end + ends.length;
    return text.slice(from, at);
  });
  prose.push(text.slice(at));
  const stray = prose.flatMap((part) => part.split("\n")).find((line) => CODE.test(line));
  if (stray !== undefined) throw new Error(`the line ${JSON.stringify(stray)} is in no block`);
  return texts;
}

function indented(text: string, depths: string | undefined): string {
  if (depths === undefined) return text;
  const lines = text.split("\n");
  if (lines.length !== depths.length) throw new Error(`${lines.length} lines have ${depths.length} depths`);
  return lines.map((line, at) => "    ".repeat(Number(depths[at])) + line).join("\n");
}

export const indent = (text: string, by = "    "): string => text.replaceAll(/^(?=.)/gm, by);
