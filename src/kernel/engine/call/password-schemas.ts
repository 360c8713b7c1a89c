import { mayHidePasswords } from "../../store/calls/call-redaction.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";

const SCHEMAS = new WeakMap<RegisteredTool, string | null>();

/**
 * JSON of the schemas of a tool's input and output, if they may declare a value as a password; else `null`. Written
 * once for each version of a tool, from its registered schemas.
 */
export function passwordSchemas(tool: RegisteredTool): string | null {
  const known = SCHEMAS.get(tool);
  if (known !== undefined) return known;
  const { inputSchema, outputSchema } = tool.info;
  const text = JSON.stringify([inputSchema, outputSchema]);
  const schemas = mayHidePasswords(text) ? text : null;
  SCHEMAS.set(tool, schemas);
  return schemas;
}
