import { isObject } from "../../../kernel/base/json.ts";

type Json = Readonly<Record<string, unknown>>;

/** Collections of Swagger 2.0, as styles of OpenAPI 3. */
const STYLES: ReadonlyMap<unknown, Json> = new Map([
  ["csv", { style: "form", explode: false }],
  ["ssv", { style: "spaceDelimited", explode: false }],
  ["pipes", { style: "pipeDelimited", explode: false }],
  ["multi", { style: "form", explode: true }],
]);
/** Members of a parameter that belong to its schema. */
const OF_SCHEMA = [
  "type",
  "format",
  "items",
  "enum",
  "default",
  "minimum",
  "maximum",
  "pattern",
  "minLength",
  "maxLength",
];
const METHODS = ["get", "put", "post", "delete", "patch", "head", "options"];
const JSON_TYPE = "application/json";
const HOPS_MAX = 16;

/**
 * A Swagger 2.0 document as one of OpenAPI 3.0. Schemas stay in place, so that references to them remain valid; shared
 * parameters and answers are read at their references.
 */
export function fromSwagger(root: Json): Json {
  const { host, basePath, schemes, paths } = root;
  const [scheme = "https"] = list(schemes).filter((one) => one === "https" || one === "http");
  const base = typeof basePath === "string" ? basePath : "";
  const servers =
    typeof host === "string" ? [{ url: `${String(scheme)}://${host}${base}` }] : base === "" ? [] : [{ url: base }];
  const items = isObject(paths) ? Object.entries(paths) : [];
  return {
    ...root,
    openapi: "3.0.3",
    servers,
    paths: Object.fromEntries(items.map(([path, item]) => [path, isObject(item) ? itemOf(root, item) : item])),
  };
}

function itemOf(root: Json, item: Json): Json {
  const shared = list(item["parameters"]);
  const operations = METHODS.flatMap((method) => {
    const operation = Object.hasOwn(item, method) ? item[method] : undefined;
    return isObject(operation) ? [[method, operationOf(root, operation, shared)] as const] : [];
  });
  return { ...item, parameters: [], ...Object.fromEntries(operations) };
}

function operationOf(root: Json, operation: Json, shared: readonly unknown[]): Json {
  const consumes = list(operation["consumes"] ?? root["consumes"]);
  const produces = list(operation["produces"] ?? root["produces"]);
  const own = list(operation["parameters"]).map((one) => followed(root, one));
  const names = new Set(own.map(keyOf));
  const all = [...shared.map((one) => followed(root, one)).filter((one) => !names.has(keyOf(one))), ...own];
  const body = all.find((one) => one["in"] === "body");
  const fields = all.filter((one) => one["in"] === "formData");
  const requestBody = body === undefined ? formOf(fields, consumes) : bodyOf(body, consumes);
  const responses = isObject(operation["responses"]) ? Object.entries(operation["responses"]) : [];
  return {
    ...operation,
    parameters: all.filter((one) => one["in"] !== "body" && one["in"] !== "formData").map(parameterOf),
    ...(requestBody === null ? {} : { requestBody }),
    responses: Object.fromEntries(
      responses.map(([status, one]) => [status, responseOf(followed(root, one), produces)]),
    ),
  };
}

function parameterOf(parameter: Json): Json {
  const { collectionFormat = "csv", ...rest } = parameter;
  const isList = rest["type"] === "array";
  // `multi` has no meaning in a path or a header: it means the default there.
  const isPlain = rest["in"] !== "query" && (collectionFormat === "csv" || collectionFormat === "multi");
  return { ...rest, ...(isList && !isPlain ? styleOf(parameter) : {}), schema: schemaOf(rest) };
}

/**
 * Style of a list in requests. A collection format that OpenAPI 3 lacks keeps its name, with which it is refused there.
 */
function styleOf({ in: place, collectionFormat = "csv" }: Json): Json {
  const isKnown = place === "query" || place === "formData";
  return (isKnown ? STYLES.get(collectionFormat) : undefined) ?? { style: collectionFormat, explode: false };
}

function schemaOf(parameter: Json): Json {
  const members = OF_SCHEMA.flatMap((name) =>
    parameter[name] === undefined ? [] : [[name, parameter[name]] as const],
  );
  const schema = Object.fromEntries(members);
  return schema["type"] === "file" ? { type: "string", format: "binary" } : schema;
}

function bodyOf({ schema, required, description }: Json, consumes: readonly unknown[]): Json {
  const types = consumes.length === 0 ? [JSON_TYPE] : consumes;
  return { description, required, content: Object.fromEntries(types.map((type) => [String(type), { schema }])) };
}

function formOf(fields: readonly Json[], consumes: readonly unknown[]): Json | null {
  if (fields.length === 0) return null;
  const isMultipart = fields.some((one) => one["type"] === "file") || consumes.includes("multipart/form-data");
  const properties = Object.fromEntries(
    fields.map((one) => [String(one["name"]), { ...schemaOf(one), description: one["description"] }]),
  );
  const lists = fields.filter((one) => one["type"] === "array");
  const encoding = Object.fromEntries(lists.map((one) => [String(one["name"]), styleOf(one)]));
  const required = fields.filter((one) => one["required"] === true).map((one) => String(one["name"]));
  const schema = { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
  const type = isMultipart ? "multipart/form-data" : "application/x-www-form-urlencoded";
  return { required: required.length > 0, content: { [type]: { schema, encoding } } };
}

function responseOf(response: Json, produces: readonly unknown[]): Json {
  const { schema, ...rest } = response;
  if (schema === undefined) return rest;
  const types = produces.length === 0 ? [JSON_TYPE] : produces;
  const isFile = isObject(schema) && schema["type"] === "file";
  return { ...rest, content: Object.fromEntries(types.map((type) => [String(type), isFile ? {} : { schema }])) };
}

function keyOf(parameter: Json): string {
  return `${String(parameter["in"])} ${String(parameter["name"])}`;
}

/** Target of a reference within the document; an empty object if it leads nowhere. */
function followed(root: Json, value: unknown): Json {
  let found: unknown = value;
  for (let hops = 0; hops < HOPS_MAX && isObject(found); hops++) {
    const { $ref } = found;
    if (typeof $ref !== "string") return found;
    const [kind = "", name = ""] = /^#\/(parameters|responses)\/([^/]+)$/.exec($ref)?.slice(1) ?? [];
    const all = root[kind];
    found = isObject(all) && Object.hasOwn(all, name) ? all[name] : undefined;
  }
  return {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
