import { _, Ajv, type CodeKeywordDefinition, type Format, type Options } from "ajv";
import { createRequire } from "node:module";
import type { JsonSchema } from "../json.ts";
import { duplicateIn, RUNTIME } from "./check-runtime.ts";
import { numberKeywords, REPLACED } from "./exact-numbers.ts";

/** Dialects after draft-07 are rare, so ajv's code for them is loaded on demand. */
const require = createRequire(import.meta.url);

/** A supported version of JSON Schema. */
export type Dialect = "draft-07" | "2019-09" | "2020-12";

const DIALECTS = new Map<string, Dialect>([
  ["json-schema.org/draft-07/schema", "draft-07"],
  ["json-schema.org/schema", "draft-07"],
  ["json-schema.org/draft/2019-09/schema", "2019-09"],
  ["json-schema.org/draft/2020-12/schema", "2020-12"],
]);

/** The dialect named by `$schema`; default: draft-07. `undefined` if it is not supported. */
export function dialectOf(schema: JsonSchema): Dialect | undefined {
  if (typeof schema === "boolean" || schema["$schema"] === undefined) return "draft-07";
  const id = schema["$schema"];
  if (typeof id !== "string") return undefined;
  return DIALECTS.get(id.replace(/^https?:\/\//, "").replace(/#$/, ""));
}

/** How the code of a schema is made. */
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

/** A compiler of schemas. Nothing bounds the work of its validators. */
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
    // Without this, `required: ["toString"]` would hold for every object.
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
      return new Ajv(options);
    // In two steps: TypeScript 7 leaves out the parentheses of `new (require(…) as …).Name()`, which then calls `require`.
    case "2019-09": {
      const { Ajv2019 } = require("ajv/dist/2019.js") as typeof import("ajv/dist/2019.js");
      return new Ajv2019(options);
    }
    case "2020-12": {
      const { Ajv2020 } = require("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
      return new Ajv2020(options);
    }
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
