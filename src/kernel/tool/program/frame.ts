import { PROGRAM_FILE } from "./runner.ts";

/** A line that begins or ends a block of Markdown. */
const FENCE = /^[ \t]*```[\w-]*[ \t]*$/;

/**
 * A program without the fence of Markdown that models put around code, and without the prose around that. Omitted lines
 * are empty, so that lines keep their numbers. Fences in a comment of the program stay.
 */
export function withoutFence(code: string): string {
  const lines = code.split("\n");
  const first = lines.findIndex((line) => line.includes("`") || line.includes("/*"));
  if (first === -1 || !FENCE.test(lines[first] ?? "")) return code;
  const last = lines.findLastIndex((line) => line.includes("`"));
  if (last === first || !FENCE.test(lines[last] ?? "")) return code;
  return lines.map((line, at) => (at > first && at < last ? line : "")).join("\n");
}

/** Text around the body of a program, or around a program that is an expression: one line before it. */
export const BODY = { head: "(async () => {\n", tail: "\n})" } as const;
export const EXPRESSION = { head: "(\n", tail: "\n)" } as const;
export const URL_LINE = `\n//# sourceURL=${PROGRAM_FILE}`;

/** The source text of a parsed program, with spaces in place of its types. */
export function bodyOf(program: string): string {
  for (const { head, tail } of [BODY, EXPRESSION]) {
    const end = tail + URL_LINE;
    if (program.startsWith(head) && program.endsWith(end)) return program.slice(head.length, -end.length);
  }
  return program;
}
