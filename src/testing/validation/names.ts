import type { ToolInfo } from "../../kernel/tool/definition.ts";
import type { ToolDescription } from "../../kernel/tool/contracts/contract.ts";
import type { JsonSchema } from "../../kernel/base/json.ts";
import { dialectOf, dialectWords } from "../../kernel/base/schema/schema-dialect.ts";
import { type Check, pass, warning } from "./check.ts";

const NAME_SHORT = 64;
const SNAKE_CASE = /^[a-z][a-z\d]*(?:_[a-z\d]+)*$/;
/** Minimum number of words in a useful description. */
const WORDS_MIN = 3;
const SHOWN_MAX = 5;

/**
 * Checks how well a model understands a tool by its name, description and schema. Findings never prevent the tool from
 * running.
 */
export function lintTool({ name, description, inputSchema }: ToolDescription): readonly Check[] {
  return [...lintName(name), ...lintDescription(name, description), ...lintSchema(description, inputSchema)];
}

function lintName(name: string): readonly Check[] {
  const found: Check[] = [];
  if (name.length > NAME_SHORT) {
    found.push(warning("name", `has ${name.length} characters; some models take at most ${NAME_SHORT}`));
  }
  if (!SNAKE_CASE.test(name)) found.push(warning("name", `"${name}" is not in snake_case, such as "read_file"`));
  return found.length > 0 ? found : [pass("name", "is short and in snake_case")];
}

function lintDescription(name: string, description: string): readonly Check[] {
  const words = description.split(/\s+/).filter((word) => word !== "");
  if (words.length >= WORDS_MIN && description.trim() !== name) return [pass("description", "says something")];
  return [warning("description", "says too little; say what the tool does and what it expects")];
}

function lintSchema(description: string, schema: JsonSchema): readonly Check[] {
  const properties = propertiesOf(schema);
  if (properties.size === 0) {
    return [warning("schema", "takes anything, so input is not checked before the tool has it; name its properties")];
  }
  const unknown = requiredOf(schema).filter((name) => !properties.has(name));
  const silent = [...properties].filter(([name, one]) => !isDescribed(one) && !description.includes(name));
  const ignored = dialectOf(schema) === "draft-07" ? dialectWords(schema).later : undefined;
  return [
    pass("schema", "says what the input is, so it is checked before the tool has it"),
    ...(ignored === undefined
      ? []
      : [warning("schema", `is read as draft-07, which ignores ${ignored}; write all of it in one dialect`)]),
    ...(unknown.length === 0 ? [] : [warning("schema", `requires what it does not describe: ${listed(unknown)}`)]),
    ...(silent.length === 0
      ? []
      : [warning("schema", `does not say what it expects as ${listed(silent.map(([name]) => name))}`)]),
  ];
}

export function propertiesOf(schema: JsonSchema): ReadonlyMap<string, unknown> {
  const properties: unknown = typeof schema === "boolean" ? null : schema["properties"];
  return new Map(typeof properties === "object" && properties !== null ? Object.entries(properties) : []);
}

export function requiredOf(schema: JsonSchema): readonly string[] {
  const required: unknown = typeof schema === "boolean" ? null : schema["required"];
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function isDescribed(property: unknown): boolean {
  return typeof property === "object" && property !== null && typeof Reflect.get(property, "description") === "string";
}

function listed(names: readonly string[]): string {
  const more = names.length > SHOWN_MAX ? `, and ${names.length - SHOWN_MAX} more` : "";
  return `${names.slice(0, SHOWN_MAX).join(", ")}${more}`;
}

const NAMES_MAX = 10;

/** Reports Node's names that a tool uses and that refuse their use. Empty for a tool that uses none. */
export function checkNodeNames({ node = [] }: Pick<ToolInfo, "node">): readonly Check[] {
  if (node.length === 0) return [];
  const refused = node.filter(({ instead }) => instead !== undefined);
  if (refused.length === 0) return [pass("node", `uses ${node.length} of Node's names, which an isolate has`)];
  const shown = refused.slice(0, NAMES_MAX).map(({ name, instead = "" }) => `${name} (${instead})`);
  const more = refused.length > NAMES_MAX ? `, and ${refused.length - NAMES_MAX} more` : "";
  return [warning("node", `names what refuses when it is used: ${shown.join("; ")}${more}`)];
}
