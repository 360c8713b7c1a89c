import { createHash } from "node:crypto";
import type { ToolRunner } from "./runner.ts";

/** Maximum length of a tool name that every model API accepts; allowed characters: `A-Z a-z 0-9 _ -`. */
const LENGTH_MAX = 64;
/** Length of a shortened name's head, before the checksum that makes it unique. */
const HEAD = 39;
const CHECKSUM = 24;
/** Form of a shortened name. A tool with such a name keeps it. */
const CUT = new RegExp(`^[A-Za-z_][A-Za-z0-9_-]{${HEAD - 1}}-[0-9a-f]{${CHECKSUM}}$`);

/** Beginnings that are not allowed, and beginnings that look already escaped. */
const ODD_BEGIN = /^(?:_-)*[-0-9]/;

/**
 * Encodes a tool's name for model APIs. A dot becomes `-dot_`, and a name that begins with neither a letter nor an
 * underscore gets the prefix `_-`. Names that already look encoded are escaped once more, so that no two names collide
 * and `readName` inverts the encoding. A name that is then too long is cut and ends in a checksum.
 */
export function writeName(name: string): string {
  if (CUT.test(name)) return name;
  const dotless = name.replaceAll(/-do(t+)_/g, "-do$1t_").replaceAll(".", "-dot_");
  const portable = ODD_BEGIN.test(dotless) ? `_-${dotless}` : dotless;
  if (portable.length <= LENGTH_MAX && !CUT.test(portable)) return portable;
  return `${portable.slice(0, HEAD)}-${createHash("sha256").update(name).digest("hex").slice(0, CHECKSUM)}`;
}

/**
 * The result of `writeName` for a name, as a type. `string` for names whose form a type cannot express: those that look
 * encoded, and those that are cut.
 */
export type WrittenName<Name extends string> = string extends Name
  ? string
  : Name extends `${string}-dot${string}`
    ? string
    : Uncut<HasOddBegin<Dotless<Name>> extends true ? `_-${Dotless<Name>}` : Dotless<Name>>;

type Dotless<Name extends string> = Name extends `${infer Head}.${infer Rest}` ? `${Head}-dot_${Dotless<Rest>}` : Name;

type HasOddBegin<Name extends string> = Name extends `_-${infer Rest}`
  ? HasOddBegin<Rest>
  : Name extends `${"-" | Digit}${string}`
    ? true
    : false;

type Digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

/** Names of at most `LENGTH_MAX` characters. */
type Uncut<Name extends string> = From16<From16<From16<From16<Name>>>> extends "" ? Name : string;

/** A text from its 17th character on. */
type From16<Text extends string> = From4<From4<From4<From4<Text>>>>;
type From4<Text extends string> = Text extends `${string}${string}${string}${string}${infer Rest}` ? Rest : "";

/** Decodes a tool's name; a shortened name stays unchanged. */
export function readName(written: string): string {
  if (CUT.test(written)) return written;
  const dotless = written.startsWith("_-") && ODD_BEGIN.test(written.slice(2)) ? written.slice(2) : written;
  return dotless.replaceAll(/-do(t+)_/g, (_, ts: string) => (ts === "t" ? "." : `-do${ts.slice(1)}_`));
}

/** The runner's tool for a decoded name, also if the name had to be shortened. */
export function findName(runner: ToolRunner, name: string): string {
  if (runner.get(name) !== undefined || !CUT.test(name)) return name;
  return runner.list().find((tool) => writeName(tool.name) === name)?.name ?? name;
}
