import type { CallCells, CallQuery } from "./call-record.ts";

/** Whether a call is one that is looked for; where a list goes on does not count. */
export function isMatch(
  cells: CallCells,
  { tool, tools, tenant, parent, code, text, sinceMs, untilMs }: CallQuery,
): boolean {
  const [, name, , , ofTenant, ofParent, , , endedWith, error, beginMs] = cells;
  return (
    (tool ?? name) === name &&
    (tenant ?? ofTenant) === ofTenant &&
    (parent ?? ofParent) === ofParent &&
    (code ?? endedWith) === endedWith &&
    (tools === null || tools.some((one) => isNamed(one, name))) &&
    (text === null || error?.toLowerCase().includes(text.toLowerCase()) === true) &&
    beginMs >= sinceMs &&
    beginMs <= untilMs
  );
}

/** Whether a pattern, which may end in `*`, names a tool. */
function isNamed(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}
