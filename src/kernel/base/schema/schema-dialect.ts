import type { Ajv, CodeKeywordDefinition, Format, Options } from "ajv";
import type { JsonSchema } from "../json.ts";
import { _, ajv as library, ajvOf } from "./ajv.ts";
import { duplicateIn, RUNTIME } from "./check-runtime.ts";
import { numberKeywords, REPLACED } from "./exact-numbers.ts";
import { schemaNodes } from "./schema-nodes.ts";

/** A supported version of JSON Schema. */
export type Dialect = "draft-07" | "2019-09" | "2020-12";

const DIALECTS = new Map<string, Dialect>([
  ["json-schema.org/draft-07/schema", "draft-07"],
  ["json-schema.org/schema", "draft-07"],
  ["json-schema.org/draft/2019-09/schema", "2019-09"],
  ["json-schema.org/draft/2020-12/schema", "2020-12"],
]);

/** Keywords that draft-07 ignores: values that they refuse would pass. */
export const LATER_KEYWORDS = [
  "prefixItems",
  "minContains",
  "maxContains",
  "dependentSchemas",
  "dependentRequired",
  "unevaluatedProperties",
  "unevaluatedItems",
  "$dynamicRef",
  "$recursiveRef",
] as const;
/** Keywords that later drafts ignore. */
export const EARLIER_KEYWORDS = ["additionalItems", "dependencies"] as const;

/**
 * The dialect named by `$schema`; `undefined` if it is not supported. A schema without it is of draft-07, or of 2020-12
 * if it has keywords that draft-07 would ignore, and none that 2020-12 would.
 */
export function dialectOf(schema: JsonSchema): Dialect | undefined {
  if (typeof schema === "boolean") return "draft-07";
  const id = schema["$schema"];
  if (id === undefined) {
    const { earlier, later } = dialectWords(schema);
    return later !== undefined && earlier === undefined ? "2020-12" : "draft-07";
  }
  if (typeof id !== "string") return undefined;
  return DIALECTS.get(id.replace(/^https?:\/\//, "").replace(/#$/, ""));
}

/** The first words of a schema that only draft-07 reads, and that only later drafts read. */
export function dialectWords(schema: JsonSchema): { readonly earlier?: string; readonly later?: string } {
  let earlier: string | undefined;
  let later: string | undefined;
  for (const { node } of schemaNodes(schema)) {
    earlier ??= Array.isArray(node["items"]) ? "items" : EARLIER_KEYWORDS.find((keyword) => keyword in node);
    later ??= LATER_KEYWORDS.find((keyword) => keyword in node);
    if (earlier !== undefined && later !== undefined) break;
  }
  return { ...(earlier === undefined ? {} : { earlier }), ...(later === undefined ? {} : { later }) };
}

/** Options of the generated code of a schema. */
interface CodeOptions {
  /** Whether the validators collect all errors instead of stopping at the first one. */
  readonly allErrors?: boolean;
  /** Whether the schema may refer to its dialect's meta-schema. Default: true. */
  readonly meta?: boolean;
  /** Whether the code is to be written as text. */
  readonly source?: boolean;
  /** Whether a text of the digits of a long integer is a number: the embedder gets them so. Default: false. */
  readonly takesDigits?: boolean;
  readonly pattern: (pattern: string, flags: string) => TextTest;
  readonly formats: Record<string, Format>;
}

/** The part of a regular expression that generated code uses. ajv identifies patterns by their text. */
export interface TextTest {
  test(text: string): boolean;
  toString(): string;
}

/** A compiler of schemas. The work of its validators is unbounded. */
export function newCompiler(
  dialect: Dialect,
  { allErrors = false, meta = true, source = false, takesDigits = false, pattern, formats }: CodeOptions,
): Ajv {
  const ajv = newAjv(dialect, {
    strict: false,
    validateSchema: false,
    logger: false,
    verbose: true,
    useDefaults: true,
    // Without this, `required: ["toString"]` would be met by every object.
    ownProperties: true,
    // Inlining a definition at each reference turns a small schema into gigabytes of code.
    inlineRefs: false,
    allErrors,
    meta,
    // Violations have words of their own.
    messages: !source,
    formats,
    code: {
      source,
      // ajv's optimizer takes quadratic time, and V8 performs as well without it.
      optimize: false,
      regExp: Object.assign(pattern, { code: `require("${RUNTIME}").patternOf` }),
      formats: _`require("ajv-formats/dist/formats").fullFormats`,
    },
  });
  for (const keyword of ["uniqueItems", ...REPLACED]) ajv.removeKeyword(keyword);
  for (const keyword of [UNIQUE_ITEMS, ...numberKeywords(takesDigits)]) ajv.addKeyword(keyword);
  return ajv;
}

function newAjv(dialect: Dialect, options: Options): Ajv {
  switch (dialect) {
    case "draft-07":
      return new (library().Ajv)(options);
    case "2019-09":
      return ajvOf("2019", options);
    case "2020-12":
      return ajvOf("2020", options);
  }
}

const UNIQUE_ITEMS: CodeKeywordDefinition = {
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  error: { message: "must have no duplicates", params: ({ params }) => _`{i: ${params["i"]}, j: ${params["j"]}}` },
  code(context) {
    if (context.schema !== true) return;
    const { gen, data } = context;
    const find = gen.scopeValue("func", { ref: duplicateIn, code: _`require(${RUNTIME}).duplicateIn` });
    const found = gen.const("found", _`${find}(${data})`);
    context.setParams({ i: _`${found}[0]`, j: _`${found}[1]` });
    context.fail(_`${found} !== null`);
  },
};
