import { isObject, memberOf } from "../../kernel/base/json.ts";
import type { ToolResult } from "../../kernel/base/result.ts";
import { type Check, error, info, pass, warning } from "./check.ts";

const TYPES: readonly unknown[] = ["string", "number", "integer", "boolean", "array", "object"];

/** Checks the specifications of a module's tools. Strands loads a tool with less, but models then call it badly. */
export function checkStrands(described: unknown): readonly Check[] {
  const sdk = memberOf(described, "tools");
  const ofSdk = (Array.isArray(sdk) ? sdk : []).flatMap((spec: unknown) =>
    isObject(spec) ? checkParts(spec, "@tool") : [],
  );
  const spec = memberOf(described, "TOOL_SPEC");
  const contract = pass("contract", "is written in strands");
  if (spec === undefined && ofSdk.length > 0) return [contract, ...ofSdk];
  if (!isObject(spec)) return [error("TOOL_SPEC", "is not an object with name, description and inputSchema")];
  const own =
    memberOf(described, "function") === true
      ? pass("function", "has the name in TOOL_SPEC")
      : error("function", `is not exported under the name in TOOL_SPEC, ${JSON.stringify(memberOf(spec, "name"))}`);
  return [contract, ...checkParts(spec, "TOOL_SPEC", [own]), ...ofSdk];
}

function checkParts(spec: object, about: string, ofFunction: readonly Check[] = []): readonly Check[] {
  const name = memberOf(spec, "name");
  return [
    isText(name) ? pass(about, `is named "${name}"`) : error(about, "has no name"),
    ...ofFunction,
    isText(memberOf(spec, "description"))
      ? pass(about, "has a description")
      : error(about, "has no description; models choose tools by it"),
    ...checkSchema(memberOf(spec, "inputSchema")),
  ];
}

function checkSchema(inputSchema: unknown): readonly Check[] {
  if (inputSchema === undefined) return [error("inputSchema", "is missing; write { json: { type: 'object', … } }")];
  const json = memberOf(inputSchema, "json");
  if (!isObject(json)) return [error("inputSchema", "has no json; write { json: { type: 'object', … } }")];
  const found: Check[] = [];
  if (json["type"] !== "object") found.push(error("inputSchema", "is not of the type object"));
  if (!isObject(json["properties"])) found.push(warning("inputSchema", "names no properties"));
  if (!Array.isArray(json["required"]))
    found.push(warning("inputSchema", "does not say which properties are required"));
  const odd = Object.entries(isObject(json["properties"]) ? json["properties"] : {}).filter(
    ([, property]) => memberOf(property, "type") !== undefined && !TYPES.includes(memberOf(property, "type")),
  );
  for (const [name] of odd) found.push(warning("inputSchema", `has a property of a type of its own: ${name}`));
  return found.length > 0 ? found : [pass("inputSchema", "has a type, properties and what is required")];
}

/** Checks a Strands tool's result for valid input against the guidelines. */
export function checkStrandsAnswer({ success, output }: ToolResult): readonly Check[] {
  if (!success) return [];
  return typeof output === "string"
    ? [pass("content", "is text")]
    : [info("content", "is not one text; most tools answer with { text } only")];
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}
