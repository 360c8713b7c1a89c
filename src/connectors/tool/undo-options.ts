import type { ConnectorFinding } from "../../kernel/base/connector-report.ts";
import { compileSchema } from "../../kernel/base/schema/schema.ts";
import { describeViolations } from "../../kernel/base/schema/violation.ts";
import { type ToolUndo, UNDO } from "../../kernel/tool/definition.ts";

/** Operations of a connector that have an undo, by their names without the connector's. */
export type OperationUndos = readonly (readonly [operation: string, undo: ToolUndo])[];

const OPERATIONS_MAX = 1_000;

/** Throws a `TypeError` that names the option and its valid values. */
export function resolveUndos(where: string, given: unknown): OperationUndos {
  if (given === undefined) return [];
  const schema = { type: "object", maxProperties: OPERATIONS_MAX, additionalProperties: UNDO };
  const violations = compileSchema(schema, "inputSchema").check(given);
  if (violations.length > 0)
    throw new TypeError(
      `${where} must map names of operations to { tool, arguments }, where arguments are JSON pointers such as "/output/id": ${describeViolations(violations)}`,
    );
  return Object.entries(structuredClone(given as { readonly [operation: string]: ToolUndo }));
}

/** The undo of a connector's tool. */
export function undoOf({ name, undos }: WithUndos, tool: string): ToolUndo | undefined {
  return undos.find(([operation]) => `${name}.${operation}` === tool)?.[1];
}

/** Names in the undos of a connector that match none of its tools, each of which may be misspelt. */
export function undoFindings({ name, undos }: WithUndos, tools: readonly string[]): readonly ConnectorFinding[] {
  const known = new Set(tools);
  return undos.flatMap(([operation, { tool }]): readonly ConnectorFinding[] => {
    const full = `${name}.${operation}`;
    if (!known.has(full)) return [{ tool: full, reason: "its undo is not used: the connector has no such tool" }];
    // A tool of another place may come later.
    if (!tool.startsWith(`${name}.`) || known.has(tool)) return [];
    return [{ tool: full, reason: `it cannot be undone: the connector has no tool ${tool}` }];
  });
}

interface WithUndos {
  readonly name: string;
  readonly undos: OperationUndos;
}
