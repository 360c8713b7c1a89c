const FENCE = "```";

/**
 * A program without the fence of Markdown that models put around code. The fence's line stays, empty, so that lines keep
 * their numbers.
 */
export function withoutFence(code: string): string {
  const trimmed = code.trim();
  const end = trimmed.indexOf("\n");
  if (end === -1 || !trimmed.startsWith(FENCE) || !trimmed.endsWith(FENCE)) return code;
  const before = code.slice(0, code.indexOf(FENCE));
  return `${before}${trimmed.slice(end, -FENCE.length)}`;
}

/** Text around the body of a program, or around a program that is an expression: one line before it. */
export const BODY = { head: "(async () => {\n", tail: "\n})" } as const;
export const EXPRESSION = { head: "(\n", tail: "\n)" } as const;
