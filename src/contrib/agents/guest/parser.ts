import { isObject, isThenable } from "../../../kernel/guest/contracts/adapter.ts";
import { parserOf, refuseArguments } from "../../../kernel/guest/contracts/defined.ts";
import { memberOf } from "./library.ts";

/**
 * The parser of a schema as libraries take them: a Standard Schema, zod before it was one, the AI SDK's `jsonSchema()` with
 * a `validate`, or a function that makes one of these. `null` for a JSON Schema, which has checked the value already.
 */
export function parserFor(given: unknown): ((value: unknown) => unknown) | null {
  const schema = madeSchema(given);
  const standard = parserOf(schema, refuseArguments);
  if (standard !== null) return standard;
  for (const method of ["validate", "safeParseAsync"]) {
    const check = memberOf(schema, method);
    if (typeof check !== "function") continue;
    return (value) => {
      const result: unknown = Reflect.apply(check, schema, [value]);
      return isThenable(result) ? Promise.resolve(result).then((one) => read(one, value)) : read(result, value);
    };
  }
  return null;
}

/** A schema that is made when it is first used. */
function madeSchema(schema: unknown): unknown {
  return typeof schema === "function" && memberOf(schema, "~standard") === undefined
    ? (Reflect.apply(schema, undefined, []) as unknown)
    : schema;
}

/** `{ success: true, value }` of the AI SDK, and `{ success: true, data }` of zod. */
function read(result: unknown, value: unknown): unknown {
  if (!isObject(result)) throw new TypeError("the schema's validate returns no result");
  if (memberOf(result, "success") === true) return memberOf(result, "value") ?? memberOf(result, "data");
  const error = memberOf(result, "error");
  const issues = memberOf(error, "issues") ?? memberOf(memberOf(error, "cause"), "issues");
  throw refuseArguments(value, Array.isArray(issues) ? issues : [{ message: memberOf(error, "message") }]);
}
