import type { Node } from "acorn";

/** A call of a tool in a program's text. Lines and columns count from 1; the end is after the last character. */
export interface ToolCallPlace {
  /** `github.list_issues` */
  readonly tool: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

const CALLS_MAX = 1_000;

/** The calls of members of `tools` whose names are literals in the text. */
export function toolCallsIn(script: Node, text: string): readonly ToolCallPlace[] {
  const starts = lineStarts(text);
  const found: ToolCallPlace[] = [];
  const open: Node[] = [script];
  for (let node = open.pop(); node !== undefined && found.length < CALLS_MAX; node = open.pop()) {
    const tool = node.type === "CallExpression" ? pathOf(Reflect.get(node, "callee")) : null;
    if (tool !== null && tool !== "") found.push({ tool, ...placeOf(node, starts) });
    for (const part of Object.values(node) as readonly unknown[]) {
      if (Array.isArray(part)) open.push(...part.filter(isNode));
      else if (isNode(part)) open.push(part);
    }
  }
  return found;
}

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

/** The name behind `tools`: empty for `tools` itself, `null` for any other expression. */
function pathOf(node: unknown): string | null {
  if (!isNode(node)) return null;
  if (node.type === "Identifier") return Reflect.get(node, "name") === "tools" ? "" : null;
  if (node.type !== "MemberExpression") return null;
  const before = pathOf(Reflect.get(node, "object"));
  const property: unknown = Reflect.get(node, "property");
  if (before === null || !isNode(property)) return null;
  const isComputed = Reflect.get(node, "computed") === true;
  const name: unknown = Reflect.get(property, isComputed ? "value" : "name");
  if (typeof name !== "string") return null;
  return before === "" ? name : `${before}.${name}`;
}

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function placeOf({ start, end }: Node, starts: readonly number[]): Omit<ToolCallPlace, "tool"> {
  const [line, column] = positionOf(start, starts);
  const [endLine, endColumn] = positionOf(end, starts);
  return { line, column, endLine, endColumn };
}

function positionOf(offset: number, starts: readonly number[]): readonly [line: number, column: number] {
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if ((starts[middle] ?? Infinity) <= offset) low = middle;
    else high = middle;
  }
  return [low + 1, offset - (starts[low] ?? 0) + 1];
}
