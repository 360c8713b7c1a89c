import {
  type CallExpression,
  type ExportDefaultDeclaration,
  type Expression,
  type Node,
  type ObjectExpression,
  parse,
  type Program,
} from "acorn";
import { everyNode, isPlainKey, keyName, Purity } from "./purity.ts";

/**
 * The halves of a tool of `defineTool`. Its whole module is needed once, to describe it; calls need only `run`. A
 * schema library takes milliseconds to evaluate, and each call evaluates the bundle again, so the half for calls must
 * not have it.
 *
 * The texts are JavaScript as esbuild prints it. Omitted parts are replaced by spaces, so lines keep their places.
 */

/** The entry with only the functions for calls in its tool, or the reason why it is unchanged. */
export type CallHalf =
  { readonly kind: "halved"; readonly text: string } | { readonly kind: "whole"; readonly reason: string };

/** The module that defines tools; the bundler has it. */
export const TOOL_ENTRY = "glovebox/tool";
/** Longest module that is taken apart, in characters. */
const TEXT_MAX = 1024 * 1024;

const NO_CALL = "its default export is not a call of defineTool with an object literal";

/** The half of an entry that calls need. */
export function callHalf(text: string): CallHalf {
  return parsed(
    text,
    (program) => halfOf(text, program),
    (reason) => ({ kind: "whole", reason }),
  );
}

/** A module whose schemas are marked, so that the bundler drops unused ones. */
export function withPureSchemas(text: string): string {
  return parsed(
    text,
    (program) => edited(text, pureEdits(program, new Purity(program))),
    () => text,
  );
}

function parsed<Value>(text: string, use: (program: Program) => Value, otherwise: (reason: string) => Value): Value {
  if (text.length > TEXT_MAX) return otherwise(`it has more than ${TEXT_MAX} characters`);
  try {
    return use(parse(text, { ecmaVersion: "latest", sourceType: "module" }));
  } catch (error) {
    // Code that is nested too deeply for the stack is a `RangeError`.
    if (error instanceof SyntaxError || error instanceof RangeError) return otherwise("it cannot be read");
    throw error;
  }
}

function halfOf(text: string, program: Program): CallHalf {
  const purity = new Purity(program);
  const found = findTool(program, purity);
  if (found === undefined) return whole(NO_CALL);
  const { tool, name } = found;
  if (!everyNode(program, (node) => !isEval(node))) return whole("it calls eval, which may use any name");
  if (name !== undefined && countOf(program, name) > found.mentions)
    return whole(`it uses its tool by the name ${name}`);
  const names = new Set<string>();
  const kept: Node[] = [];
  for (const property of tool.properties) {
    if (property.type !== "Property" || property.kind !== "init" || !isPlainKey(property.key, property.computed)) {
      return whole("its tool has a spread, a computed key or an accessor");
    }
    const key = keyName(property.key) ?? "";
    if (names.has(key)) return whole(`its tool has ${key} twice`);
    names.add(key);
    const isKept = key === "run" || (key === "undo" && property.value.type !== "ObjectExpression");
    if (isKept) kept.push(property);
    else if (!purity.isPure(property.value)) return whole(`its ${key} may do something besides having a value`);
  }
  if (!names.has("run")) return whole("its tool has no run");
  const edits = [
    ...kept.map(({ start }, at) => ({ from: kept[at - 1]?.end ?? tool.start + 1, to: start, by: at === 0 ? "" : "," })),
    { from: kept.at(-1)?.end ?? tool.start + 1, to: tool.end - 1, by: "" },
    ...exportEdits(text, program, name),
    ...pureEdits(program, purity),
  ];
  return { kind: "halved", text: edited(text, edits) };
}

function whole(reason: string): CallHalf {
  return { kind: "whole", reason };
}

interface FoundTool {
  readonly tool: ObjectExpression;
  /**
   * The constant that holds the tool, if it is not exported directly, and the number of its uses in definition and
   * export.
   */
  readonly name?: string;
  readonly mentions: number;
}

function findTool(program: Program, purity: Purity): FoundTool | undefined {
  const defines = definersOf(program, purity);
  const toolIn = (node: Node | undefined): ObjectExpression | undefined => {
    if (node?.type !== "CallExpression") return undefined;
    const { callee, arguments: given, optional } = node as CallExpression;
    const [first] = given;
    return !optional && defines(callee) && given.length === 1 && first?.type === "ObjectExpression" ? first : undefined;
  };
  for (const statement of program.body) {
    let name: string | undefined;
    let mentions = 0;
    if (statement.type === "ExportDefaultDeclaration") {
      const { declaration } = statement as ExportDefaultDeclaration;
      const tool = toolIn(declaration);
      if (tool !== undefined) return { tool, mentions: 0 };
      if (declaration.type === "Identifier") [name, mentions] = [(declaration as Node & { name: string }).name, 2];
    } else if (statement.type === "ExportNamedDeclaration" && !statement.source) {
      const found = statement.specifiers.find(({ exported }) => isDefault(exported));
      if (found?.local.type === "Identifier") [name, mentions] = [found.local.name, 2];
    }
    if (name === undefined) continue;
    const tool = toolIn(purity.constant(name));
    return tool === undefined ? undefined : { tool, name, mentions };
  }
  return undefined;
}

function isDefault(node: Node): boolean {
  return keyName(node) === "default";
}

/** Identifies callees that define a tool: `defineTool`, or the results of `toolFactory`. */
function definersOf(program: Program, purity: Purity): (callee: Node) => boolean {
  const imported = new Map<string, string>();
  for (const statement of program.body) {
    if (statement.type !== "ImportDeclaration" || statement.source.value !== TOOL_ENTRY) continue;
    for (const specifier of statement.specifiers) {
      if (specifier.type === "ImportNamespaceSpecifier") imported.set(specifier.local.name, "*");
      else if (specifier.type === "ImportSpecifier")
        imported.set(specifier.local.name, keyName(specifier.imported) ?? "");
    }
  }
  const isImport = (node: Node, wanted: string): boolean => {
    const expression = node as Expression;
    if (expression.type === "Identifier") return imported.get(expression.name) === wanted;
    if (expression.type !== "MemberExpression" || expression.computed || expression.optional) return false;
    const { object, property } = expression;
    return object.type === "Identifier" && imported.get(object.name) === "*" && keyName(property) === wanted;
  };
  const isFactoryCall = (node: Node | undefined): boolean => {
    if (node?.type !== "CallExpression") return false;
    const { callee, arguments: given } = node as CallExpression;
    return given.length === 0 && isImport(callee, "toolFactory");
  };
  return (callee) => {
    if (isImport(callee, "defineTool") || isFactoryCall(callee)) return true;
    return callee.type === "Identifier" && isFactoryCall(purity.constant((callee as Node & { name: string }).name));
  };
}

function isEval(node: Node): boolean {
  return node.type === "Identifier" && (node as Node & { readonly name: string }).name === "eval";
}

function countOf(program: Program, name: string): number {
  const places = new Set<number>();
  everyNode(program, (node) => {
    if (node.type === "Identifier" && (node as Node & { readonly name: string }).name === name) places.add(node.start);
    return true;
  });
  return places.size;
}

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

/** A call needs only the default export, and without the others the bundler drops their dependencies. */
function exportEdits(text: string, program: Program, name: string | undefined): readonly Edit[] {
  return program.body.flatMap((statement): Edit[] => {
    if (statement.type === "ExportAllDeclaration") return [importOnly(text, statement, statement.source)];
    if (statement.type !== "ExportNamedDeclaration") return [];
    const { declaration, source, specifiers, start, end } = statement;
    if (declaration) return [{ from: start, to: declaration.start, by: "" }];
    if (source) return [importOnly(text, statement, source)];
    const isTool = name !== undefined && specifiers.some(({ exported }) => isDefault(exported));
    return [{ from: start, to: end, by: isTool ? `export { ${name} as default };` : "" }];
  });
}

/** A module that is exported from is still evaluated. */
function importOnly(text: string, statement: Node, source: Node): Edit {
  return { from: statement.start, to: statement.end, by: `import ${text.slice(source.start, statement.end)}` };
}

/** Wraps the schemas at the top level in calls that the bundler drops if their value is unused. */
function pureEdits(program: Program, purity: Purity): readonly Edit[] {
  return program.body.flatMap((statement): Edit[] => {
    const found = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    if (found?.type !== "VariableDeclaration") return [];
    return found.declarations.flatMap(({ id, init }): Edit[] => {
      if (id.type !== "Identifier" || !init || !purity.isSchemaCall(init)) return [];
      return [
        { from: init.start, to: init.start, by: "/* @__PURE__ */ (() => " },
        { from: init.end, to: init.end, by: ")()" },
      ];
    });
  });
}

/** Makes edits, which do not overlap. Line feeds of replaced parts stay. */
function edited(text: string, edits: readonly Edit[]): string {
  let made = "";
  let at = 0;
  for (const { from, to, by } of edits.toSorted((one, other) => one.from - other.from)) {
    made += text.slice(at, from) + by + text.slice(from, to).replaceAll(/[^\n]/g, by === "" ? " " : "");
    at = to;
  }
  return made + text.slice(at);
}
