import type { ToolInfo } from "../../tool/definition.ts";
import { type Check, pass, warning } from "./check.ts";

const SHOWN_MAX = 10;

/** Says which of Node's names a tool uses that refuse when they are used. Nothing of a tool that uses none. */
export function checkNodeNames({ node = [] }: Pick<ToolInfo, "node">): readonly Check[] {
  if (node.length === 0) return [];
  const refused = node.filter(({ instead }) => instead !== undefined);
  if (refused.length === 0) return [pass("node", `uses ${node.length} of Node's names, which an isolate has`)];
  const shown = refused.slice(0, SHOWN_MAX).map(({ name, instead = "" }) => `${name} (${instead})`);
  const more = refused.length > SHOWN_MAX ? `, and ${refused.length - SHOWN_MAX} more` : "";
  return [warning("node", `names what refuses when it is used: ${shown.join("; ")}${more}`)];
}
