import { isAmong } from "../../base/name-patterns.ts";
import type { CallCells, CallQuery } from "./call-record.ts";

/** Whether a call matches a query. The query's cursor does not count. */
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
    isAmong(tools ?? undefined, name) &&
    (text === null || error?.toLowerCase().includes(text.toLowerCase()) === true) &&
    beginMs >= sinceMs &&
    beginMs <= untilMs
  );
}
