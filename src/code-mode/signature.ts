import type { ToolDescription } from "../kernel/tool/contracts/contract.ts";
import type { ToolInfo } from "../kernel/tool/definition.ts";
import { commentLines, pascalCase, propertyKey } from "../kernel/tool/declarations/names.ts";
import { after, type PrintStyle, printType } from "../kernel/tool/declarations/print-type.ts";
import type { SchemaTypes } from "../kernel/tool/declarations/schema-reader.ts";
import { typesOfSchema } from "../kernel/tool/declarations/settle-types.ts";
import { scopedName } from "./names.ts";

/** A tool's declaration for a model, in two lengths, and its name with the beginning of its description. */
export interface Signature {
  /** With the descriptions of properties. */
  readonly full: Declared;
  readonly short: Declared;
  readonly line: string;
}

export interface Declared {
  /** A method of the object that is the tool's namespace. */
  readonly member: string;
  /** Types that it names; perhaps none. */
  readonly types: string;
  /** The type of its arguments. */
  readonly input: string;
  /** Length within its namespace, in UTF-16 units. */
  readonly length: number;
}

/** Of a member, and once more of a member of a namespace. */
export const INDENT = "  ";

const DESCRIPTION_MAX = 400;
const PROPERTY_MAX = 200;
const LINE_MAX = 160;
const NAME_MAX = 48;
/**
 * Length of one declaration, in UTF-16 units. Beyond it, the type of the output is left out, and only then that of the
 * arguments, without which no call can be written.
 */
const LENGTH_MAX = 8_000;
const FULL: PrintStyle = { modifier: "", descriptionMax: PROPERTY_MAX };
const SHORT: PrintStyle = { modifier: "", descriptionMax: 0 };
const LESS = [{}, { outputSchema: true }, { inputSchema: { type: "object" }, outputSchema: true }] as const;
/** Follows the type of an output without a declared schema. */
const INFERRED = " // as one output was";

type ShownTool = ToolDescription & Pick<ToolInfo, "inferredOutputSchema">;

/** Made once for each tool, so that the work for a tool's schemas is done once. */
const signatures = new WeakMap<ToolDescription, Signature>();

/**
 * The declaration of a tool. Names, descriptions and schemas are untrusted: no part of them ends a comment or is read
 * as code.
 */
export function signatureOf(tool: ShownTool): Signature {
  const known = signatures.get(tool);
  if (known !== undefined) return known;
  const about = firstLine(tool.description);
  const line = about === "" ? tool.name : `${tool.name}: ${about}`;
  const made = { full: declare(tool, FULL), short: declare(tool, SHORT), line };
  signatures.set(tool, made);
  return made;
}

function firstLine(description: string): string {
  const lines = commentLines(description, LINE_MAX);
  const [line = ""] = lines.length > 1 ? lines.slice(1) : lines;
  return line.replace(/^\/?\*+ ?| \*\/$/g, "").replace(/^ \* ?/, "");
}

function declare(tool: ShownTool, style: PrintStyle): Declared {
  const styles = style === SHORT ? [SHORT] : [style, SHORT];
  for (const less of LESS) {
    for (const one of styles) {
      const declared = write({ ...tool, ...less }, one);
      if (declared.member.length + declared.types.length <= LENGTH_MAX) return declared;
    }
  }
  return write({ ...tool, ...LESS[2] }, SHORT);
}

function write(tool: ShownTool, style: PrintStyle): Declared {
  const { name, description, inputSchema, outputSchema, inferredOutputSchema } = tool;
  const word = pascalCase(name, NAME_MAX);
  const prefix = /^[A-Z]/.test(word) ? word : `Tool${word}`;
  const input = typesOfSchema(inputSchema, { side: "input", name: `${prefix}Input`, longIntegers: "bigint" });
  const output = typesOfSchema(outputSchema ?? inferredOutputSchema ?? true, {
    side: "output",
    name: `${prefix}Output`,
    longIntegers: "bigint",
  });
  const head = `${propertyKey(scopedName(name).member)}(input:`;
  const taken = printType(input.type, "", head.length + 1, style);
  const argument = after(head, taken);
  const answer = printType(output.type, "", argument.length - argument.lastIndexOf("\n"), style).trimStart();
  const note = (outputSchema ?? null) === null && inferredOutputSchema !== undefined ? INFERRED : "";
  const lines = [...commentLines(description, DESCRIPTION_MAX), `${argument}): Promise<${answer}>;${note}`];
  const types = [...input.named, ...output.named].map((named) => writeType(named, style));
  const [member, named] = [lines.join("\n"), types.join("\n")];
  const length = member.length + named.length + member.split("\n").length * 2 * INDENT.length + 2;
  return { member, types: named, input: taken, length };
}

/** A type with a name, as a statement. */
export function writeType({ name, type }: SchemaTypes["named"][number], style: PrintStyle): string {
  const head = `type ${name} =`;
  return `${after(head, printType(type, "", head.length + 1, style))};`;
}
