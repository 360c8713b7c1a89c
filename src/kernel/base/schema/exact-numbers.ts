import type { Code, CodeKeywordDefinition, KeywordCxt, Name } from "ajv";
import type { JSONType } from "ajv/dist/compile/rules.js";
import type { JsonSchema } from "../json.ts";
import { _, dataTypes, str } from "./ajv.ts";
import { RUNTIME } from "./check-runtime.ts";
import { isDigits, isMultiple, isOneOf, NUMBER_TYPE, numberOf, OWN } from "./long-integers.ts";
import { schemaNodes } from "./schema-nodes.ts";

/**
 * ajv does not support `bigint`. These keywords replace JSON Schema's own about numbers, and compare long integers
 * exactly.
 */

/** Replaces `const` and `enum` with long integers. */
const NUMBER_ENUM = `${OWN}enum`;

const TYPES: ReadonlySet<unknown> = new Set([
  "array",
  "boolean",
  "integer",
  "null",
  "number",
  "object",
  "string",
] satisfies JSONType[]);
const BOUNDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] as const;
const COMPARISONS = {
  minimum: () => _`>=`,
  maximum: () => _`<=`,
  exclusiveMinimum: () => _`>`,
  exclusiveMaximum: () => _`<`,
};
type Entries = Record<string, unknown>;

/** Replaces INTO a schema the keywords about numbers by these. Its long integers are `bigint`s. */
export function spellNumbers(schema: JsonSchema): void {
  for (const { node } of schemaNodes(schema)) spell(node);
}

function spell(node: Entries): void {
  const { type } = node;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (types.every((one) => TYPES.has(one)) && (types.includes("number") || types.includes("integer"))) {
    node[NUMBER_TYPE] = node["nullable"] === true && !types.includes("null") ? [...types, "null"] : types;
    delete node["type"];
    delete node["nullable"];
  }
  for (const keyword of BOUNDS) {
    const bound = node[keyword];
    if (typeof bound !== "bigint" || isOfNumber(bound)) continue;
    node[OWN + keyword] = String(bound);
    delete node[keyword];
  }
  spellValues(node);
}

function spellValues(node: Entries): void {
  const allowed: unknown = Object.hasOwn(node, "const") ? [node["const"]] : node["enum"];
  if (Array.isArray(allowed) && allowed.some(isLong)) {
    node[NUMBER_ENUM] = allowed.map(allowedValue);
    delete node["const"];
    delete node["enum"];
  }
  for (const [key, value] of Object.entries(node)) {
    // No check uses them, and code would contain their values.
    if (key === "examples" || key.startsWith("x-")) delete node[key];
    else if (key === "default") node[key] = withTexts(value);
    else if (typeof value === "bigint") node[key] = Number(value);
  }
}

/** A default whose long integers are texts of digits, which become integers if the schema allows. */
function withTexts(value: unknown): unknown {
  const text = JSON.stringify(value, (_name, one: unknown) => (typeof one === "bigint" ? String(one) : one));
  return text === undefined ? value : (JSON.parse(text) as unknown);
}

function allowedValue(value: unknown): object {
  if (typeof value !== "bigint") return { value };
  return isOfNumber(value) ? { value: Number(value) } : { digits: String(value) };
}

/** Whether the digits are those that JavaScript writes for a number: the value may come from a rounded number. */
function isOfNumber(value: bigint): boolean {
  return String(Number(value)) === String(value);
}

function isLong(value: unknown): boolean {
  return (
    typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value))
  );
}

const isNumeric = (data: Name): Code => _`typeof ${data} == "number" || typeof ${data} == "bigint"`;

/**
 * Keywords of a compiler in addition to ajv's own, or instead of them. `takesDigits`: a text of digits is a number too.
 */
export function numberKeywords(takesDigits: boolean): readonly CodeKeywordDefinition[] {
  return [
    typeKeyword(takesDigits),
    ENUM,
    multipleOf(takesDigits),
    ...BOUNDS.flatMap((keyword) => [bound(keyword, takesDigits), longBound(keyword, takesDigits)]),
  ];
}

/** The value to compare: the number in a text of digits, if those are accepted and the schema does not allow texts. */
function comparedBy({ gen, data, parentSchema }: KeywordCxt, takesDigits: boolean): Name {
  const types: unknown = (parentSchema as Entries)[NUMBER_TYPE];
  if (!takesDigits || !Array.isArray(types) || types.includes("string")) return data;
  const read = gen.scopeValue("func", { ref: numberOf, code: _`require(${RUNTIME}).numberOf` });
  return gen.const("compared", _`${read}(${data})`);
}

/** ajv's own keywords that these replace. */
export const REPLACED = ["multipleOf", ...BOUNDS];

function typeKeyword(takesDigits: boolean): CodeKeywordDefinition {
  return {
    keyword: NUMBER_TYPE,
    schemaType: "array",
    error: {
      message: ({ schema }) => `must be ${(schema as string[]).join(",")}`,
      params: ({ schemaCode }) => _`{type: ${schemaCode}}`,
    },
    code(context) {
      const { gen, data, schema } = context;
      const { checkDataTypes, DataType } = dataTypes();
      const isOther = _`(${checkDataTypes(schema as JSONType[], data, true, DataType.Wrong)}) && typeof ${data} != "bigint"`;
      if (!takesDigits) return context.fail(isOther);
      const test = gen.scopeValue("func", { ref: isDigits, code: _`require(${RUNTIME}).isDigits` });
      context.fail(_`${isOther} && !${test}(${data})`);
    },
  };
}

function bound(keyword: (typeof BOUNDS)[number], takesDigits: boolean): CodeKeywordDefinition {
  const comparison = COMPARISONS[keyword]();
  return {
    keyword,
    schemaType: "number",
    error: {
      message: ({ schemaCode }) => str`must be ${String(comparison)} ${schemaCode}`,
      params: ({ schemaCode }) => _`{comparison: ${String(comparison)}, limit: ${schemaCode}}`,
    },
    code(context) {
      const { schemaCode } = context;
      const data = comparedBy(context, takesDigits);
      context.fail(_`(${isNumeric(data)}) && !(${data} ${comparison} ${schemaCode})`);
    },
  };
}

function longBound(keyword: (typeof BOUNDS)[number], takesDigits: boolean): CodeKeywordDefinition {
  const comparison = COMPARISONS[keyword]();
  return {
    keyword: OWN + keyword,
    schemaType: "string",
    error: {
      message: ({ schema }) => `must be ${String(comparison)} ${String(schema)}`,
      params: ({ schema }) => _`{comparison: ${String(comparison)}, limit: ${schema}}`,
    },
    code(context) {
      const { gen, schema } = context;
      const data = comparedBy(context, takesDigits);
      const limit = gen.const("limit", _`BigInt(${schema})`);
      context.fail(_`(${isNumeric(data)}) && !(${data} ${comparison} ${limit})`);
    },
  };
}

function multipleOf(takesDigits: boolean): CodeKeywordDefinition {
  return {
    keyword: "multipleOf",
    schemaType: "number",
    error: {
      message: ({ schemaCode }) => str`must be multiple of ${schemaCode}`,
      params: ({ schemaCode }) => _`{multipleOf: ${schemaCode}}`,
    },
    code(context) {
      const { gen, schemaCode } = context;
      const data = comparedBy(context, takesDigits);
      const test = gen.scopeValue("func", { ref: isMultiple, code: _`require(${RUNTIME}).isMultiple` });
      context.fail(_`(${isNumeric(data)}) && !${test}(${data}, ${schemaCode})`);
    },
  };
}

const ENUM: CodeKeywordDefinition = {
  keyword: NUMBER_ENUM,
  schemaType: "array",
  error: {
    message: "must be equal to one of the allowed values",
    params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}.map((one) => one.digits ?? one.value)}`,
  },
  code(context) {
    const { gen, data, schemaCode } = context;
    const test = gen.scopeValue("func", { ref: isOneOf, code: _`require(${RUNTIME}).isOneOf` });
    context.fail(_`!${test}(${data}, ${schemaCode})`);
  },
};
