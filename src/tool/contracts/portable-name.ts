import { createHash } from "node:crypto";
import type { ToolRunner } from "./runner.ts";

/** What every model's API takes as a tool's name has `A-Z a-z 0-9 _ -` and at most this many of them. */
const LENGTH_MAX = 64;
/** What is left of a longer name, before the checksum that tells it from others. */
const HEAD = 39;
const CHECKSUM = 24;
/** What was cut: a tool that is called so is written so. */
const CUT = new RegExp(`^[A-Za-z_][A-Za-z0-9_-]{${HEAD - 1}}-[0-9a-f]{${CHECKSUM}}$`);

/** What no name may begin with; and what begins with the mark for it, as if it were marked already. */
const ODD_BEGIN = /^(?:_-)*[-0-9]/;

/**
 * A tool's name as models' APIs take it. A dot becomes `-dot_`, and a name that begins with neither a letter nor an
 * underscore gets `_-` before it. Names that look so already get one more of it, so that no two names become one, and
 * `readName` leads back. Names that are too long then are cut and end in a checksum.
 */
export function writeName(name: string): string {
  if (CUT.test(name)) return name;
  const dotless = name.replaceAll(/-do(t+)_/g, "-do$1t_").replaceAll(".", "-dot_");
  const portable = ODD_BEGIN.test(dotless) ? `_-${dotless}` : dotless;
  if (portable.length <= LENGTH_MAX && !CUT.test(portable)) return portable;
  return `${portable.slice(0, HEAD)}-${createHash("sha256").update(name).digest("hex").slice(0, CHECKSUM)}`;
}

/** The tool's name that was written so; one that was cut stays as it is. */
export function readName(written: string): string {
  if (CUT.test(written)) return written;
  const dotless = written.startsWith("_-") && ODD_BEGIN.test(written.slice(2)) ? written.slice(2) : written;
  return dotless.replaceAll(/-do(t+)_/g, (_, ts: string) => (ts === "t" ? "." : `-do${ts.slice(1)}_`));
}

/** The name of the runner's tool that was written so and read back, also where it had to be cut. */
export function findName(runner: ToolRunner, name: string): string {
  if (runner.get(name) !== undefined || !CUT.test(name)) return name;
  return runner.list().find((tool) => writeName(tool.name) === name)?.name ?? name;
}
