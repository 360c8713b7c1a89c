import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Ajv, AnySchemaObject } from "ajv";
import { describe, expect, test } from "vitest";
import { GloveboxError } from "../../../../src/kernel/base/errors.ts";
import type { JsonSchema } from "../../../../src/kernel/base/json.ts";
import { compileChecks } from "../../../../src/kernel/base/schema/checks.ts";
import { byReason, expectOutcome } from "../../../conformance/outcome.ts";
import { openChecks } from "./run-checks.ts";

type Group = readonly [
  description: string,
  schema: JsonSchema,
  tests: readonly (readonly [description: string, value: unknown, isValid: boolean])[],
];
type Check = (value: unknown) => boolean;

const require = createRequire(import.meta.url);
const addFormats = require("ajv-formats") as (ajv: Ajv) => void;
const draft07 = require("ajv/dist/refs/json-schema-draft-07.json") as AnySchemaObject;

/** What plain ajv is in each draft, as its documentation sets it up. */
const PLAIN = {
  "draft-07": () => new (require("ajv") as { Ajv: typeof Ajv }).Ajv({ strict: false, logger: false }),
  "2019-09": () => {
    const { Ajv2019 } = require("ajv/dist/2019") as { Ajv2019: typeof Ajv };
    return new Ajv2019({ strict: false, logger: false }).addMetaSchema(draft07);
  },
  "2020-12": () => {
    const { Ajv2020 } = require("ajv/dist/2020") as { Ajv2020: typeof Ajv };
    return new Ajv2020({ strict: false, logger: false }).addMetaSchema(draft07);
  },
} as const;

/** Cases of each draft in which plain ajv agrees with the suite and the checks of tools do not. */
const OTHER: readonly string[] = [
  // Defaults are written first, and checked like what the caller sent.
  "invalid type for default: still valid when the invalid default is used",
  "invalid string value for default: still valid when the invalid default is used",
  "the default keyword does not do anything if the property is missing: missing properties are not filled in with the default",
];

/** Schemas that are refused for another reason than a reference to a schema elsewhere: ajv compiles none of them. */
const REFUSED: Readonly<Record<string, string>> = {
  "enum: empty enum": "enum must have non-empty array",
  "ref: refs with relative uris and defs": "its $id and $ref lead to each other",
  "ref: relative refs with absolute uris and defs": "its $id and $ref lead to each other",
  "ref: URN ref with nested pointer ref": "its $id and $ref lead to each other",
  "dynamicRef: A $dynamicRef that initially resolves to a schema with a matching $dynamicAnchor resolves to the first $dynamicAnchor in the dynamic scope":
    "only supports hash fragment reference",
  "dynamicRef: A $dynamicRef that initially resolves to a schema without a matching $dynamicAnchor behaves like a normal $ref to $anchor":
    "only supports hash fragment reference",
  "dynamicRef: after leaving a dynamic scope, it is not used by a $dynamicRef": "only supports hash fragment reference",
};

/** The check of a schema as a tool's outputSchema; the reason if it is refused. */
function checkOf(schema: JsonSchema): Check | string {
  try {
    const { output } = openChecks(compileChecks(true, schema));
    return (value) => output(value) === null;
  } catch (error) {
    if (error instanceof GloveboxError) return error.message;
    throw error;
  }
}

/** Whether plain ajv gives the answer of the suite; not where it throws. */
function plainAgrees(schema: JsonSchema, draft: keyof typeof PLAIN): (value: unknown, isValid: boolean) => boolean {
  const ajv = PLAIN[draft]();
  addFormats(ajv);
  try {
    const check = ajv.compile(schema);
    return (value, isValid) => {
      try {
        return check(structuredClone(value)) === isValid;
      } catch {
        return false;
      }
    };
  } catch {
    return () => false;
  }
}

function groupsOf(draft: keyof typeof PLAIN): readonly Group[] {
  const lines = readFileSync(new URL(`../../../../fixtures/json-schema/${draft}.jsonl`, import.meta.url), "utf8");
  return lines
    .trimEnd()
    .split("\n")
    .map((line) => {
      const [description, schema, tests] = JSON.parse(line) as Group;
      const isNamed = typeof schema === "object" && draft !== "draft-07";
      return [
        description,
        isNamed ? { ...schema, $schema: `https://json-schema.org/draft/${draft}/schema` } : schema,
        tests,
      ];
    });
}

/** A case, and who agrees with the suite about it; plain ajv is asked only of schemas with a case that does not. */
interface Case {
  readonly title: string;
  readonly agrees: boolean;
  readonly plainAgrees: boolean;
  readonly isRefused: boolean;
}

function reasonOf({ plainAgrees, isRefused }: Case): string {
  if (plainAgrees) return "a default is written first, and checked like what the caller sent";
  return isRefused
    ? "the schema is refused: ajv does not compile it without schemas from elsewhere"
    : "ajv gives another answer than the suite";
}

describe.each(["draft-07", "2019-09", "2020-12"] as const)("of the suite of %s", (draft) => {
  const groups = groupsOf(draft);
  const checks = groups.map(([, schema]) => checkOf(schema));
  const cases = groups.flatMap(([description, schema, tests], at): readonly Case[] => {
    const check = checks[at];
    const answers = tests.map(([, value, isValid]) => typeof check === "function" && check(value) === isValid);
    // One more compiler for each schema would take as long as all else.
    const plain = answers.every(Boolean) ? null : plainAgrees(schema, draft);
    return tests.map(([what, value, isValid], nth) => ({
      title: `${description.replace(/^\w+: /, "")}: ${what}`,
      agrees: answers[nth] ?? false,
      plainAgrees: plain !== null && plain(value, isValid),
      isRefused: typeof check !== "function",
    }));
  });

  test("the outcome is that of the page of conformance", async () => {
    const others = cases.filter(({ agrees }) => !agrees);
    await expectOutcome(`json-schema-${draft}`, {
      suite: `JSON Schema, required tests of ${draft}`,
      version: "44401e0c046704b476ec9d2e2fccdaee618f259d",
      passed: cases.length - others.length,
      notApplicable: [],
      refused: byReason(others.map((each) => [each.title, reasonOf(each)])),
      open: [],
    });
  });

  test("every case in which plain ajv agrees is one in which the checks of tools agree, but for defaults", () => {
    const lost = cases.filter(({ agrees, plainAgrees }) => plainAgrees && !agrees).map(({ title }) => title);
    expect(lost).toEqual(OTHER);
  });

  test("a schema is refused because it refers to one that is elsewhere, or for a reason that is written down", () => {
    const others = groups.flatMap(([description], at) => {
      const reason = checks[at];
      if (typeof reason !== "string" || / refers to a schema that is not there/.test(reason)) return [];
      const known = REFUSED[description];
      return known !== undefined && reason.includes(known) ? [] : [`${description}: ${reason}`];
    });
    expect(others).toEqual([]);
  });
});
