import { _, Ajv, type Format, type FuncKeywordDefinition, type KeywordCxt, type Options } from "ajv";
import { createRequire } from "node:module";
import { fullFormats } from "ajv-formats/dist/formats.js";
import type { JsonSchema } from "../json.ts";
import { compilePattern } from "./pattern.ts";
import { uniqueItems } from "./unique-items.ts";
import type { WorkMeter } from "./work-meter.ts";

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

const REFERENCE = /"\$(?:ref|dynamicRef|recursiveRef)"/;

/**
 * Following a reference is a function call, and failures behind it copy their errors: far more work than other
 * keywords.
 */
const REFERENCE_STEPS = 20;

/** The dialect named by `$schema`; default: draft-07. `undefined` if it is not supported. */
export function dialectOf(schema: JsonSchema): Dialect | undefined {
  if (typeof schema === "boolean" || schema["$schema"] === undefined) return "draft-07";
  const id = schema["$schema"];
  if (typeof id !== "string") return undefined;
  return DIALECTS.get(id.replace(/^https?:\/\//, "").replace(/#$/, ""));
}

/**
 * A schema compiler whose validators are bounded by a meter: each keyword spends steps whenever it is checked, and
 * patterns and `uniqueItems` take linear time.
 */
export function newMeteredAjv(dialect: Dialect, meter: WorkMeter, options: Options): Ajv {
  const regExp = Object.assign((pattern: string) => compilePattern(pattern, meter), { code: "compilePattern" });
  const ajv = newAjv(dialect, {
    strict: false,
    validateSchema: false,
    logger: false,
    useDefaults: true,
    // Without this, `required: ["toString"]` would hold for every object.
    ownProperties: true,
    // Inlining a definition at each reference turns a small schema into gigabytes of code.
    inlineRefs: false,
    formats: meteredFormats(meter),
    // ajv's optimizer takes quadratic time, and V8 performs as well without it.
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

/** Inserts a call of the meter before the code of every keyword. */
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
      // Items that do not match accumulate their errors, behind a reference each time in a new array.
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

/** Number of parts of a keyword: alternatives, properties, allowed values. */
function entries(keyword: unknown): number {
  return typeof keyword === "object" && keyword !== null ? Object.keys(keyword).length : 0;
}

/** The formats of ajv-formats. All take linear time except `url`, which takes quadratic time. */
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
