import { _, Ajv, type Format, type FuncKeywordDefinition, type KeywordCxt, type Options } from "ajv";
import { createRequire } from "node:module";
import { fullFormats } from "ajv-formats/dist/formats.js";
import type { JsonSchema } from "../json.ts";
import { compilePattern } from "./pattern.ts";
import { uniqueItems } from "./unique-items.ts";
import type { WorkMeter } from "./work-meter.ts";

/** Few schemas name a later dialect than draft-07: the others are loaded with the first of them. */
const require = createRequire(import.meta.url);

/** A version of JSON Schema that tools may use. */
export type Dialect = "draft-07" | "2019-09" | "2020-12";

const DIALECTS = new Map<string, Dialect>([
  ["json-schema.org/draft-07/schema", "draft-07"],
  ["json-schema.org/schema", "draft-07"],
  ["json-schema.org/draft/2019-09/schema", "2019-09"],
  ["json-schema.org/draft/2020-12/schema", "2020-12"],
]);

const REFERENCE = /"\$(?:ref|dynamicRef|recursiveRef)"/;

/** Following a reference is a call, and whatever fails behind it copies its errors: much more than other keywords. */
const REFERENCE_STEPS = 20;

/** The dialect that `$schema` names, draft-07 where there is none, and `undefined` where it is not supported. */
export function dialectOf(schema: JsonSchema): Dialect | undefined {
  if (typeof schema === "boolean" || schema["$schema"] === undefined) return "draft-07";
  const id = schema["$schema"];
  if (typeof id !== "string") return undefined;
  return DIALECTS.get(id.replace(/^https?:\/\//, "").replace(/#$/, ""));
}

/**
 * A schema compiler whose validators are bounded by a meter: each keyword takes steps whenever it is checked, patterns
 * run in linear time, and `uniqueItems` too.
 */
export function newMeteredAjv(dialect: Dialect, meter: WorkMeter, options: Options): Ajv {
  const regExp = Object.assign((pattern: string) => compilePattern(pattern, meter), { code: "compilePattern" });
  const ajv = newAjv(dialect, {
    strict: false,
    validateSchema: false,
    logger: false,
    useDefaults: true,
    // Otherwise `required: ["toString"]` holds for every object.
    ownProperties: true,
    // Copying a definition to each of its references lets a small schema become gigabytes of code.
    inlineRefs: false,
    formats: meteredFormats(meter),
    // Optimizing takes time that grows with the square of the schema, and V8 does as well without.
    code: { regExp, optimize: false },
    ...options,
  });
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword(uniqueItems(meter) satisfies FuncKeywordDefinition);
  meterKeywords(ajv, meter);
  return ajv;
}

function newAjv(dialect: Dialect, options: Options): Ajv {
  switch (dialect) {
    case "draft-07":
      return new Ajv(options);
    case "2019-09":
      return new (require("ajv/dist/2019.js") as typeof import("ajv/dist/2019.js")).Ajv2019(options);
    case "2020-12":
      return new (require("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js")).Ajv2020(options);
  }
}

/** Puts a call of the meter in front of the code of every keyword. */
function meterKeywords(ajv: Ajv, meter: WorkMeter): void {
  const spend = (steps: number): void => meter.spend(steps);
  const metered = new Set<object>();
  for (const rule of Object.values(ajv.RULES.all)) {
    if (typeof rule !== "object" || !("code" in rule.definition)) continue;
    const { definition } = rule;
    if (metered.has(definition)) continue;
    metered.add(definition);
    const write = definition.code.bind(definition);
    definition.code = (context: KeywordCxt, type?: string) => {
      const { gen, data } = context;
      const func = gen.scopeValue("func", { key: spend, ref: spend });
      const weight = (REFERENCE.test(`"${context.keyword}"`) ? REFERENCE_STEPS : 1) + entries(context.schema);
      // Items that do not fit pile up their errors, and behind a reference each time in a new array.
      if (context.keyword === "contains" && REFERENCE.test(JSON.stringify(context.schema))) {
        gen.code(_`${func}(${data}.length * ${data}.length / 8)`);
      }
      if (type === "array") gen.code(_`${func}(${weight} + ${data}.length)`);
      else if (type === "string") gen.code(_`${func}(${weight} + (${data}.length >> 4))`);
      else gen.code(_`${func}(${weight})`);
      write(context, type);
    };
  }
}

/** How many parts a keyword has: alternatives, properties, allowed values. */
function entries(keyword: unknown): number {
  return typeof keyword === "object" && keyword !== null ? Object.keys(keyword).length : 0;
}

/** The formats of ajv-formats. All but `url` take time in proportion to the string's length; `url` takes its square. */
function meteredFormats(meter: WorkMeter): Record<string, Format> {
  const formats: Record<string, Format> = {};
  for (const [name, format] of Object.entries(fullFormats)) {
    const test = textTest(format);
    if (test === undefined) {
      formats[name] = format;
      continue;
    }
    formats[name] = (text: string) => {
      meter.spend(name === "url" ? (text.length * text.length) / 16 : text.length * (name === "regex" ? 16 : 1));
      return test(text);
    };
  }
  return formats;
}

function textTest(format: Format): ((text: string) => boolean) | undefined {
  const test: unknown = typeof format === "object" && "validate" in format ? format.validate : format;
  if (typeof format === "object" && "type" in format && format.type === "number") return undefined;
  if (test instanceof RegExp) return (text) => test.test(text);
  if (typeof test === "function") return (text) => Reflect.apply(test, undefined, [text]) === true;
  return undefined;
}
