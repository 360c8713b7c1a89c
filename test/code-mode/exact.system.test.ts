import fc from "fast-check";
import { expect, test } from "vitest";
import { GloveboxError } from "../../src/kernel/base/errors.ts";
import { compileSchema, type Validator } from "../../src/kernel/base/schema/schema.ts";
import { checkTypes } from "../../src/code-mode/check/type-check.ts";
import type { ToolDescription } from "../../src/kernel/tool/contracts/contract.ts";
import { buildProgram } from "../../src/kernel/tool/program/build.ts";
import type { JsonSchema } from "../../src/kernel/base/json.ts";
import { byLength } from "../length.ts";

const ROUNDS = byLength(8, 40);
/** Schemas of a program: the checker has two seconds of processor time for it, on slow machines, too. */
const SCHEMAS = 5;
const VALUES = 20;
/** Values that are tried for each that the schema accepts. */
const TRIES = 40;

type Schema = Readonly<Record<string, unknown>> | boolean;

const NAMES = ["a", "b", "kind", "list-of", "x y", "next"];
const name = fc.constantFrom(...NAMES);
const word = fc.constantFrom("", "a", "on", "off", "2026-11-26", "a@b.example", "*/", "`${x}`");
const scalar = fc.oneof(word, fc.integer({ min: -3, max: 12 }), fc.constantFrom(null, true, false, 0.5));

const { schema } = fc.letrec<{ schema: Schema; some: readonly Schema[] }>((tie) => ({
  some: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }),
  schema: fc.oneof(
    { maxDepth: 4, depthSize: "medium", withCrossShrink: true },
    fc.constantFrom<Schema>(
      true,
      {},
      { type: "null" },
      { type: "boolean" },
      { $ref: "#/$defs/node" },
      { $ref: "#/$defs/name" },
    ),
    fc.record(
      { type: fc.constant("string"), minLength: fc.constantFrom(0, 1), format: fc.constantFrom("date", "email") },
      { requiredKeys: ["type"] },
    ),
    fc.record(
      { type: fc.constantFrom("integer", "number"), minimum: fc.constantFrom(0, -5), multipleOf: fc.constant(1) },
      { requiredKeys: ["type"] },
    ),
    fc.record({ enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 5 }) }),
    fc.record({ const: fc.oneof(scalar, fc.constantFrom({ a: 1 }, [1, "a"], {})) }),
    fc.record({
      type: fc.uniqueArray(fc.constantFrom("string", "number", "null", "object", "array"), { minLength: 1 }),
    }),
    fc.record(
      {
        type: fc.constant("object"),
        properties: fc.dictionary(name, tie("schema"), { maxKeys: 4 }),
        required: fc.uniqueArray(name, { maxLength: 2 }),
        additionalProperties: fc.oneof(fc.constant(false), tie("schema")),
        patternProperties: fc.dictionary(fc.constantFrom("^a", "^x"), tie("schema"), { maxKeys: 1 }),
        minProperties: fc.constantFrom(0, 1),
        propertyNames: fc.constant({ maxLength: 8 }),
      },
      { requiredKeys: ["type"] },
    ),
    fc.record({
      type: fc.constant("object"),
      properties: fc.dictionary(name, tie("schema"), { minKeys: 1, maxKeys: 3 }),
    }),
    fc.record(
      {
        type: fc.constant("array"),
        items: tie("schema"),
        minItems: fc.constantFrom(0, 1),
        maxItems: fc.constantFrom(2, 5),
      },
      { requiredKeys: ["type", "items"] },
    ),
    fc.record(
      { type: fc.constant("array"), prefixItems: tie("some"), items: tie("schema"), minItems: fc.constantFrom(1, 2) },
      { requiredKeys: ["type", "prefixItems"] },
    ),
    fc.record({ anyOf: tie("some") }),
    fc.record({ oneOf: tie("some") }),
    fc.record({ allOf: tie("some") }),
    fc.record({ not: tie("schema") }),
    fc.record({ if: tie("schema"), then: tie("schema"), else: tie("schema") }, { requiredKeys: ["if"] }),
    fc.record({ type: fc.constantFrom("string", "object"), nullable: fc.constant(true), default: scalar }),
  ),
}));

/** Arguments of a tool: an object with members of all kinds, and definitions that refer to themselves. */
const inputSchema = fc.record({
  $schema: fc.constantFrom(
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
  ),
  type: fc.constant("object"),
  properties: fc.dictionary(name, schema, { minKeys: 1, maxKeys: 4 }),
  required: fc.uniqueArray(name, { maxLength: 2 }),
  additionalProperties: fc.oneof(fc.boolean(), schema),
  $defs: fc.record({
    name: schema,
    node: fc.record({
      type: fc.constant("object"),
      properties: fc.record({ next: fc.constant({ $ref: "#/$defs/node" }), a: schema }),
      additionalProperties: fc.boolean(),
    }),
  }),
});

/** Values near to what a schema accepts: many are accepted, and others show where it ends. */
class Guesser {
  readonly #root: Schema;
  readonly #random: () => number;

  constructor(root: Schema, seed: number) {
    this.#root = root;
    let state = seed >>> 0;
    this.#random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  }

  #pick<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#random() * items.length)];
  }

  #arbitrary(depth: number): unknown {
    const flat = ["", "a", "on", 0, 7, 1.5, true, null];
    if (depth > 2 || this.#random() < 0.7) return this.#pick(flat);
    if (this.#random() < 0.5)
      return [this.#arbitrary(depth + 1), this.#arbitrary(depth + 1)].slice(0, this.#random() * 3);
    return Object.fromEntries(NAMES.filter(() => this.#random() < 0.4).map((one) => [one, this.#arbitrary(depth + 1)]));
  }

  guess(given: unknown = this.#root, depth = 0): unknown {
    if (typeof given !== "object" || given === null || depth > 6) return this.#arbitrary(depth);
    const from = given as Readonly<Record<string, unknown>>;
    if (this.#random() < 0.05) return this.#arbitrary(depth);
    if ("const" in from) return from["const"];
    if (Array.isArray(from["enum"])) return this.#pick(from["enum"]);
    if (typeof from["$ref"] === "string") {
      const { $defs } = this.#root as { readonly $defs: Readonly<Record<string, unknown>> };
      return this.guess($defs[from["$ref"].slice("#/$defs/".length)], depth + 1);
    }
    for (const key of ["anyOf", "oneOf"]) {
      if (Array.isArray(from[key])) return this.guess(this.#pick(from[key] as readonly unknown[]), depth + 1);
    }
    if (Array.isArray(from["allOf"])) {
      const parts = from["allOf"].map((one) => this.guess(one, depth + 1));
      const objects = parts.filter((one) => typeof one === "object" && one !== null && !Array.isArray(one));
      return objects.length === parts.length ? Object.assign({}, ...objects) : parts[0];
    }
    if ("if" in from) return this.guess(this.#pick([from["then"], from["else"], from["if"]]), depth + 1);
    const kind: unknown = Array.isArray(from["type"]) ? this.#pick(from["type"] as readonly unknown[]) : from["type"];
    return this.#ofKind(kind, from, depth);
  }

  #ofKind(kind: unknown, from: Readonly<Record<string, unknown>>, depth: number): unknown {
    if (from["nullable"] === true && this.#random() < 0.3) return null;
    switch (kind) {
      case "string":
        return this.#pick(["a", "on", "2026-11-26", "a@b.example", ""]);
      case "integer":
      case "number":
        return this.#pick([0, 1, 7, kind === "number" ? 2.5 : 2]);
      case "boolean":
        return this.#random() < 0.5;
      case "null":
        return null;
      case "array": {
        const listed = (from["prefixItems"] ?? []) as readonly unknown[];
        const length = Math.floor(this.#random() * 4);
        return Array.from({ length }, (_, at) =>
          this.guess(at < listed.length ? listed[at] : from["items"], depth + 1),
        );
      }
      case "object":
        return this.#object(from, depth);
      default:
        return this.#arbitrary(depth);
    }
  }

  #object(from: Readonly<Record<string, unknown>>, depth: number): unknown {
    const properties = (from["properties"] ?? {}) as Readonly<Record<string, unknown>>;
    const required = (from["required"] ?? []) as readonly string[];
    const others = from["additionalProperties"] === false ? [] : NAMES;
    const names = [...Object.keys(properties), ...required, ...others];
    const chosen = names.filter((one) => required.includes(one) || this.#random() < 0.5);
    return Object.fromEntries(
      chosen.map((one) => [one, this.guess(properties[one] ?? from["additionalProperties"], depth + 1)]),
    );
  }
}

/** `null` for a schema that is refused as a whole: it is too large. */
function validatorOf(given: Schema): Validator | null {
  try {
    return compileSchema(given as JsonSchema, "inputSchema");
  } catch (error) {
    if (error instanceof GloveboxError) return null;
    throw error;
  }
}

/** Values that the schema accepts, as the checks of arguments do. */
function acceptedBy(given: Schema, seed: number): readonly string[] {
  const validator = validatorOf(given);
  if (validator === null) return [];
  const guesser = new Guesser(given, seed);
  const accepted = new Set<string>();
  for (let left = VALUES * TRIES; left > 0 && accepted.size < VALUES; left--) {
    const value = guesser.guess();
    const text = JSON.stringify(value);
    // A check fills in defaults.
    if (validator.check(JSON.parse(text)).length === 0) accepted.add(text);
  }
  return [...accepted];
}

/** The findings of the checker on calls of tools with these schemas, each with a value that its schema accepts. */
async function findingsOn(schemas: readonly Schema[], seed: number) {
  const tools: readonly ToolDescription[] = schemas.map((one, at) => ({
    name: `t.n${at}`,
    description: "",
    inputSchema: one as JsonSchema,
    outputSchema: one as JsonSchema,
  }));
  const calls = schemas.flatMap((one, at) =>
    acceptedBy(one, seed + at).map((text) => ({ schema: one, tool: at, text })),
  );
  const lines = calls.map(({ tool, text }) => `await tools.t.n${tool}(${text});`);
  // The answer of a tool is one of the same values: it can be sent to another of the same schema.
  const answers = schemas.map((_, at) => `await tools.t.n${at}(await tools.t.n${at}(input));`);
  const code = [...lines, ...answers].join("\n");
  const built = await buildProgram(code, "");
  const payer = { tenant: "", spend: () => undefined };
  const checked = await checkTypes(code, built, { tools, describeMissing: (tool) => tool }, payer);
  if (checked.kind === "unchecked") return { count: calls.length, findings: [checked.reason] };
  const problems = checked.problems.map(({ line, message }) => ({ message, call: calls[line - 1] }));
  return { count: calls.length, findings: [...problems, ...checked.warnings] };
}

test("what a schema accepts, its declaration for the checker accepts: 40 schemas with up to 20 values each", async () => {
  let count = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(inputSchema, { minLength: SCHEMAS, maxLength: SCHEMAS }),
      fc.nat(),
      async (schemas, seed) => {
        const { count: checked, findings } = await findingsOn(schemas, seed);
        count += checked;
        expect(findings.map((one) => JSON.stringify(one))).toEqual([]);
      },
    ),
    { numRuns: ROUNDS, endOnFailure: true },
  );
  expect(count).toBeGreaterThan(ROUNDS * SCHEMAS * 5);
}, 300_000);

/** Found by the property above: the compiler is not strict, and two types that have `null` alone in common were `never`. */
test("null is accepted where it is all that two parts of a schema have in common", async () => {
  const next = { allOf: [{ type: "string", nullable: true }, { enum: [null, 6] }] };
  const named = { allOf: [{ $ref: "#/$defs/name" }, { enum: [null, 6] }] };
  const $defs = { name: { type: ["string", "null"] } };
  const { count, findings } = await findingsOn(
    [{ type: "object", properties: { next, named }, required: ["next", "named"], $defs }],
    1,
  );
  expect(count).toBeGreaterThan(0);
  expect(findings).toEqual([]);
});
