import { describeFound } from "./call.ts";
import { type Adapter, isThenable } from "./contracts/adapter.ts";
import { definedIn } from "./contracts/defined.ts";
import { exportsOf, findAdapter } from "./contracts/index.ts";
import type { ToolFacts } from "./tool-context.ts";
import { write } from "./values.ts";

const { get } = Reflect;

/** The member of a module with which the host describes schemas. */
const SCHEMAS = "~schemas";

/** The description of a module as an outcome, once it is loaded and the promises among its exports are settled. */
export function describeModule(
  module: object,
  known: Adapter | null,
  tool: ToolFacts,
  loading: Promise<unknown> | null,
): string | Promise<string> {
  if (loading !== null) return describeLoaded(module, known, tool, loading);
  const exports = exportsOf(module);
  const adapter = known ?? findAdapter(exports);
  const facts = {
    contract: adapter.name,
    spec: write(exports["spec"] ?? null) ?? "null",
    defaultExport: definedIn(exports) === undefined ? typeof exports["default"] : "function",
  };
  const found = (value: unknown): string => describeFound({ ...facts, described: write(value ?? null) ?? "null" });
  const described = adapter.describe(exports, tool, get(module, SCHEMAS));
  return isThenable(described) ? (async () => found(await described))() : found(described);
}

async function describeLoaded(
  module: object,
  known: Adapter | null,
  tool: ToolFacts,
  loading: Promise<unknown>,
): Promise<string> {
  await loading;
  return describeModule(module, known, tool, null);
}
