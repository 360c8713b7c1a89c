import type { ToolDescription } from "../../tool/contracts/contract.ts";
import { pascalCase, propertyKey, UniqueNames } from "../../tool/declarations/names.ts";
import { after, type PrintStyle, printType } from "../../tool/declarations/print-type.ts";
import { readSchemaTypes } from "../../tool/declarations/schema-reader.ts";
import { settleTypes } from "../../tool/declarations/settle-types.ts";
import { scopedName } from "../names.ts";

const STYLE: PrintStyle = { modifier: "", descriptionMax: 0 };
/** The type of what has no schema. */
const ANY = "any";
const UNTYPED = `(input?: ${ANY}): Promise<${ANY}>;`;
const NAME_MAX = 48;
/** Tools that are declared with their types. */
const TYPED_MAX = 200;
const TYPES_CHARS_MAX = 1024 * 1024;

/** Names of every program, and of its realm beside the language's own. */
const GLOBALS: readonly string[] = (
  "AbortController AbortSignal Blob ByteLengthQueuingStrategy CompressionStream CountQueuingStrategy Crypto CustomEvent " +
  "DOMException DecompressionStream Event EventTarget File FormData Headers QuotaExceededError ReadableByteStreamController " +
  "ReadableStream ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController " +
  "ReadableStreamDefaultReader Request Response SubtleCrypto TextDecoder TextDecoderStream TextEncoder TextEncoderStream " +
  "TransformStream TransformStreamDefaultController URL URLPattern URLSearchParams WebAssembly WritableStream " +
  "WritableStreamDefaultController WritableStreamDefaultWriter atob btoa clearInterval clearTimeout console crypto " +
  "fetch performance queueMicrotask reportError setInterval setTimeout structuredClone self global"
).split(" ");
const PROGRAM = `declare const input: ${ANY};
declare function progress(progress: number, total?: number, message?: string): void;
declare function search_tools(query: string | { query: string; namespace?: string; limit?: number; detail?: "name" | "signature" | "full" }): Promise<${ANY}>;
declare class ToolError extends Error { tool: string; code: string; }
`;

/**
 * Declarations for the checker of one program: every tool by name, and those that the program names with their types. No
 * type is narrower than its schema, so that no right call is refused.
 */
export function declareExactly(tools: readonly ToolDescription[], code: string): string {
  const names = new UniqueNames();
  const types: string[] = [];
  let typed = 0;
  let length = 0;
  const memberOfTool = (tool: ToolDescription): string => {
    const { member } = scopedName(tool.name);
    const isNamed = code.includes(member.split(".").at(-1) ?? member);
    if (!isNamed || typed >= TYPED_MAX || length > TYPES_CHARS_MAX) return propertyKey(member) + UNTYPED;
    typed++;
    const { signature, named } = exactSignature(tool, names);
    length += signature.length + named.length;
    if (named !== "") types.push(named);
    return propertyKey(member) + signature;
  };
  const namespaces = Map.groupBy(tools, ({ name }) => scopedName(name).namespace);
  const members = [...namespaces].map(([namespace, own]) => {
    const text = own.map((tool) => memberOfTool(tool)).join("\n");
    return namespace === "" ? text : `${propertyKey(namespace)}: {\n${text}\n};`;
  });
  const globals = GLOBALS.map((name) => `declare var ${name}: ${ANY};\n`).join("");
  return `${globals}${PROGRAM}${types.join("\n")}\ndeclare const tools: {\n${members.join("\n")}\n};\n`;
}

function exactSignature({ name, inputSchema, outputSchema }: ToolDescription, names: UniqueNames) {
  const word = pascalCase(name, NAME_MAX);
  const prefix = names.take(/^[A-Z]/.test(word) ? word : `Tool${word}`);
  const read = (schema: unknown, side: "input" | "output") =>
    settleTypes(readSchemaTypes(schema, { side, name: `${prefix}_${side}`, isExact: true }));
  const input = read(inputSchema, "input");
  // Without a schema, an output may be anything.
  const output = outputSchema === null || outputSchema === undefined ? null : read(outputSchema, "output");
  const answer = output === null ? ANY : printType(output.type, "", 0, STYLE);
  const named = [...input.named, ...(output?.named ?? [])].map(
    (one) => `${after(`type ${one.name} =`, printType(one.type, "", 0, STYLE))};`,
  );
  return { signature: `(input: ${printType(input.type, "", 0, STYLE)}): Promise<${answer}>;`, named: named.join("\n") };
}
