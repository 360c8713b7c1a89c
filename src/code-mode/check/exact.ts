import { memberOf } from "../../kernel/base/json.ts";
import { eachInTurns } from "../../kernel/base/turns.ts";
import type { ToolDescription } from "../../kernel/tool/contracts/contract.ts";
import { pascalCase, propertyKey } from "../../kernel/tool/declarations/names.ts";
import { type PrintStyle, printType } from "../../kernel/tool/declarations/print-type.ts";
import { typesOfSchema } from "../../kernel/tool/declarations/settle-types.ts";
import { scopedName } from "../names.ts";
import { writeType } from "../signature.ts";

const STYLE: PrintStyle = { modifier: "", descriptionMax: 0 };
/** Parts of an output that its schema leaves open may be used in any way. */
const OUTPUT_STYLE: PrintStyle = { ...STYLE, unknown: "any" };
/** The type of values without a schema. */
const ANY = "any";
const UNTYPED = `(input?: ${ANY}): Promise<${ANY}>;`;
const NAME_MAX = 48;
/** Tools that are declared with their types. */
const TYPED_MAX = 200;
const TYPES_CHARS_MAX = 1024 * 1024;
const WORD = /[\w$-]+/g;

/** Names of every program, and of its realm in addition to the language's own. */
const GLOBALS: readonly string[] = (
  "AbortController AbortSignal Blob ByteLengthQueuingStrategy CompressionStream CountQueuingStrategy Crypto CustomEvent " +
  "DOMException DecompressionStream Event EventTarget File FormData Headers QuotaExceededError ReadableByteStreamController " +
  "ReadableStream ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController " +
  "ReadableStreamDefaultReader Request Response SubtleCrypto TextDecoder TextDecoderStream TextEncoder TextEncoderStream " +
  "TransformStream TransformStreamDefaultController URL URLPattern URLSearchParams WebAssembly WritableStream " +
  "WritableStreamDefaultController WritableStreamDefaultWriter atob btoa clearInterval clearTimeout console crypto " +
  "performance queueMicrotask reportError setInterval setTimeout structuredClone self global"
).split(" ");
const PROGRAM = `declare const input: ${ANY};
declare function progress(progress: number, total?: number, message?: string): void;
declare function search_tools(query: string | { query: string; namespace?: string; limit?: number; detail?: "name" | "signature" | "full" }): Promise<${ANY}>;
declare function approval(asked: string | { message: string; data?: unknown; schema?: object; expiresMs?: number }): Promise<{ approved: true; data: ${ANY}; actor: string | null; reason: string | null }>;
declare function signal(name: string, options?: { expiresMs?: number }): Promise<${ANY}>;
declare function sleepUntil(date: Date | string | number): Promise<void>;
interface Promise<T> { readonly edited?: { arguments: ${ANY} }; }
declare class ToolError extends Error { tool: string; code: string; details?: ${ANY}; }
`;

const PRELUDE = GLOBALS.map((name) => `declare var ${name}: ${ANY};\n`).join("") + PROGRAM;

/**
 * Declarations for the checker of one program: every tool by name, and those that the program names with their types. No
 * type is narrower than its schema, so that no right call is refused. Gives way to other work meanwhile.
 */
export async function declareExactly(tools: readonly ToolDescription[], code: string): Promise<string> {
  const words = new Set(code.match(WORD));
  const types: string[] = [];
  const members = new Map<string, string[]>();
  let typed = 0;
  let length = 0;
  await eachInTurns(tools, (tool) => {
    const { namespace, member } = scopedName(tool.name);
    const isNamed = words.has(member.split(".").at(-1) ?? member);
    const own = members.get(namespace) ?? [];
    members.set(namespace, own);
    if (isNamed && typed < TYPED_MAX && length < TYPES_CHARS_MAX) {
      typed++;
      const { signature, named } = exactSignature(tool);
      length += signature.length + named.length;
      own.push(propertyKey(member) + signature);
      if (named !== "") types.push(named);
    } else own.push(propertyKey(member) + UNTYPED);
  });
  const blocks = [...members].map(([namespace, own]) =>
    namespace === "" ? own.join("\n") : `${propertyKey(namespace)}: {\n${own.join("\n")}\n};`,
  );
  return `${PRELUDE}${types.join("\n")}\ndeclare const tools: {\n${blocks.join("\n")}\n};\n`;
}

interface ExactSignature {
  readonly signature: string;
  /** Types that it names. */
  readonly named: string;
}

/** Made once for each tool, with names that no other tool's types have. */
const signatures = new WeakMap<ToolDescription, ExactSignature>();
let lastNumber = 0;

function exactSignature(tool: ToolDescription): ExactSignature {
  const known = signatures.get(tool);
  if (known !== undefined) return known;
  const made = write(tool, `${pascalCase(`t ${tool.name}`, NAME_MAX)}${++lastNumber}`);
  signatures.set(tool, made);
  return made;
}

function write({ inputSchema, outputSchema }: ToolDescription, prefix: string): ExactSignature {
  const read = (schema: unknown, side: "input" | "output") =>
    typesOfSchema(schema, { side, name: `${prefix}_${side}`, isExact: true });
  const input = read(inputSchema, "input");
  // Without a schema, an output may be anything.
  const output = outputSchema === null || outputSchema === undefined ? null : read(outputSchema, "output");
  const answer = output === null ? ANY : printType(output.type, "", 0, OUTPUT_STYLE);
  const named = [
    ...input.named.map((one) => writeType(one, STYLE)),
    ...(output?.named ?? []).map((one) => writeType(one, OUTPUT_STYLE)),
  ];
  const taken = `input${mayBeEmpty(inputSchema) ? "?" : ""}: ${printType(input.type, "", 0, STYLE)}`;
  return { signature: `(${taken}): Promise<${answer}>;`, named: named.join("\n") };
}

/** Whether a tool may be called without arguments, which is a call with an empty object. */
function mayBeEmpty(inputSchema: unknown): boolean {
  const required: unknown = memberOf(inputSchema, "required");
  return !Array.isArray(required) || required.length === 0;
}
