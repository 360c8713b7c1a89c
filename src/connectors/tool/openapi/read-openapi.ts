import type { ConnectorFinding } from "../../../kernel/base/connector-report.ts";
import { isObject, type JsonSchema } from "../../../kernel/base/json.ts";
import type { OpenApiOperation } from "../../../kernel/guest/host.ts";
import type { ToolAnnotations } from "../../../kernel/tool/contracts/contract.ts";
import { digitsOf, type RemoteTool, type RemoteTools, shortText } from "../remote-tool.ts";
import { readAnswers } from "./answers.ts";
import { readBody } from "./bodies.ts";
import { type Json, LeftOut, OpenApiDocument } from "./document.ts";
import { type Argument, readParameters, type SentByConnector } from "./parameters.ts";
import { describedWith, Schemas } from "./schemas.ts";
import { readSecurity, type SuggestedAuth } from "./security.ts";
import { checkServers, serverOf } from "./servers.ts";

export interface OpenApiOptions {
  /** Name of the connector. */
  readonly connector: string;
  /** URL of the server. Default: the document's first. */
  readonly server?: string;
  /** URL of the document, to which its servers may be relative. */
  readonly location?: string;
  /** Whether the connector uses an operation, by its name. Default: all. */
  readonly isWanted?: (name: string) => boolean;
  /** Whether outputs have chosen headers of the answers. Default: false. */
  readonly hasHeaders?: boolean;
  /** Whether files among arguments may be paths of mounts. Default: false. */
  readonly takesPaths?: boolean;
  /** Names of headers and of parts of the query that the connector itself sends: they are no arguments. */
  readonly headers?: readonly string[];
  readonly query?: readonly string[];
}

export interface OpenApiTools extends RemoteTools {
  /** URL of the document's first server, or the one of the options. */
  readonly server: string;
  /** Its security schemes in the form of an `auth`. */
  readonly auths: readonly SuggestedAuth[];
}

/** Members of a path that are operations. */
const METHODS = ["get", "put", "post", "delete", "patch", "head", "query", "options", "trace"];
const NOT_SENT = new Set(["OPTIONS", "TRACE", "TRACK", "CONNECT"]);
const METHOD = /^[\w!#$%&'*+.^`|~-]{1,32}$/;
const READS = new Set(["GET", "HEAD", "QUERY"]);
const REPEATABLE = new Set([...READS, "PUT", "DELETE"]);
const OPERATIONS_MAX = 3_000;
const FINDINGS_MAX = 3_000;
const INPUT_MAX = 128 * 1024;
const OUTPUT_MAX = 96 * 1024;
const NAME_MAX = 200;
const PATH_MAX = 1_000;
const DESCRIPTION_MAX = 1_000;
const TITLE_MAX = 200;

/**
 * Reads an OpenAPI document of version 3.0 to 3.2, or of Swagger 2.0, in JSON or YAML. Runs in a build process. Throws
 * a `GloveboxError` if it is no such document.
 */
export function readOpenApi(text: string, options: OpenApiOptions): OpenApiTools {
  return new OpenApiReader(new OpenApiDocument(text), options).read();
}

interface Place {
  readonly path: string;
  readonly method: string;
  readonly item: Json;
  readonly operation: Json;
}

class OpenApiReader {
  readonly #document: OpenApiDocument;
  readonly #options: OpenApiOptions;
  readonly #server: string;
  readonly #sent: SentByConnector;
  readonly #input: Schemas;
  readonly #output: Schemas;
  readonly #tools: RemoteTool[] = [];
  readonly #findings: ConnectorFinding[] = [];
  #operations = 0;
  /** Name of the operation that is being read. */
  #name: string | null = null;
  /** Names of operations, which documents repeat. */
  readonly #names = new Set<string>();

  constructor(document: OpenApiDocument, options: OpenApiOptions) {
    this.#document = document;
    this.#options = options;
    this.#server = serverOf(document, options.server, options.location);
    this.#sent = { headers: lowerCase(options.headers), query: lowerCase(options.query) };
    const missing = (of: string) => (reason: string) => this.#find(this.#name, `any ${of} in a place where ${reason}`);
    this.#input = new Schemas(document, "input", missing("value is taken"));
    this.#output = new Schemas(document, "output", missing("value is expected"));
  }

  read(): OpenApiTools {
    const { paths } = this.#document.root;
    const all = isObject(paths) ? Object.entries(paths).filter(([path]) => !path.startsWith("x-")) : [];
    if (all.length === 0) this.#find(null, "the document has no paths");
    for (const [path, value] of all) {
      if (this.#operations >= OPERATIONS_MAX) {
        this.#find(null, `operations after the first ${OPERATIONS_MAX} are left out`);
        break;
      }
      const shown = shortText(path, NAME_MAX);
      const item = this.#try(shown, () => this.#document.follow(value));
      if (item !== undefined) this.#readPath(path, item);
    }
    const auths = readSecurity(this.#document);
    return { server: this.#server, tools: this.#tools, findings: this.#findings, auths };
  }

  #readPath(path: string, item: Json): void {
    for (const [method, operation] of operationsOf(item)) {
      const name = this.#nameOf(method, path, isObject(operation) ? operation["operationId"] : null);
      if (this.#options.isWanted?.(name) === false) continue;
      this.#operations++;
      this.#name = name;
      this.#try(name, () => {
        if (!isObject(operation)) throw new LeftOut("it is not an object");
        if (NOT_SENT.has(method.toUpperCase()) || !METHOD.test(method)) {
          throw new LeftOut(`${shortText(method, NAME_MAX)} is not sent`);
        }
        this.#take(name, { path, method, item, operation });
      });
    }
  }

  /** A later operation with the id of an earlier one has the name of its method and path. */
  #nameOf(method: string, path: string, id: unknown): string {
    const own = nameOf(method, path, id);
    const other = this.#names.has(own) ? nameOf(method, path, null) : own;
    const name = this.#names.has(other) ? `${other}_${digitsOf(`${method.toLowerCase()} ${path}`)}` : other;
    if (name !== own) this.#find(name, `its id ${shortText(own, NAME_MAX)} is an earlier operation's too`);
    this.#names.add(name);
    return name;
  }

  #take(name: string, { path, method, item, operation }: Place): void {
    const document = this.#document;
    checkServers(document, this.#server, [item["servers"], operation["servers"]]);
    const lists = [item["parameters"], operation["parameters"]];
    const { parameters, idempotencyHeader, ...read } = readParameters(document, path, lists, this.#sent);
    const body = readBody(document, method, operation["requestBody"], this.#options.takesPaths === true);
    const answers = readAnswers(document, operation["responses"]);
    const input = this.#inputOf(body === null ? read.arguments : [...read.arguments, body.argument]);
    const answered = method === "HEAD" ? null : this.#outputOf(name, answers.schemas);
    const output = this.#options.hasHeaders === true ? withHeaders(answered) : answered;
    const remote: OpenApiOperation = {
      kind: "openapi",
      connector: this.#options.connector,
      isRead: READS.has(method),
      isRepeatable: REPEATABLE.has(method) || idempotencyHeader !== null,
      method,
      path: read.path,
      parameters,
      body: body?.body ?? null,
      accept: answers.accept,
      hasHeaders: this.#options.hasHeaders === true,
      takesPaths:
        this.#options.takesPaths === true && (body?.body.encoding === "bytes" || body?.body.encoding === "multipart"),
      idempotencyHeader,
    };
    this.#tools.push({
      name,
      description: descriptionOf(operation, item) || `${method} ${shortText(path, NAME_MAX)}`,
      inputSchema: input,
      ...(output === null ? {} : { outputSchema: output }),
      annotations: annotationsOf(method, operation),
      operation: remote,
    });
    const sequences = [body?.finding ?? null, answers.finding].filter((finding) => finding !== null);
    for (const reason of [...read.findings, ...sequences]) this.#find(name, reason);
  }

  #inputOf(args: readonly Argument[]): JsonSchema {
    const read = args.map(({ schema, ...argument }) => ({ ...argument, reading: this.#input.read(schema) }));
    const properties = read.map(({ property, description, reading }) => [
      property,
      described(reading.schema, description),
    ]);
    const required = read.filter(({ isRequired }) => isRequired).map(({ property }) => property);
    const schema = {
      type: "object",
      properties: Object.fromEntries(properties) as Json,
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false,
    };
    return this.#input.write(
      schema,
      read.map(({ reading }) => reading),
      INPUT_MAX,
    );
  }

  /** A tool is worth more than the schema of its output. */
  #outputOf(name: string, schemas: readonly unknown[] | null): JsonSchema | null {
    if (schemas === null) return null;
    try {
      const readings = schemas.map((schema) => this.#output.read(schema));
      const [first, ...others] = new Map(readings.map(({ schema }) => [JSON.stringify(schema), schema])).values();
      const schema = others.length === 0 ? first : { anyOf: [first, ...others] };
      if (!isObject(schema) || Object.keys(schema).length === 0) return null;
      return this.#output.write(schema, readings, OUTPUT_MAX);
    } catch (error) {
      if (!(error instanceof LeftOut)) throw error;
      this.#find(name, `without the schema of its output: ${error.message}`);
      return null;
    }
  }

  #try<Value>(name: string, read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof LeftOut)) throw error;
      this.#find(name, error.message);
      return undefined;
    }
  }

  #find(tool: string | null, reason: string): void {
    if (this.#findings.length < FINDINGS_MAX) this.#findings.push({ tool, reason });
  }
}

/** The schema of an output with headers in addition to its body. */
function withHeaders(schema: JsonSchema | null): JsonSchema {
  const { $schema, $defs, ...body } = isObject(schema) ? schema : {};
  return {
    ...($schema === undefined ? {} : { $schema }),
    type: "object",
    properties: { body, headers: { type: "object", additionalProperties: { type: "string" } } },
    required: ["body", "headers"],
    ...($defs === undefined ? {} : { $defs }),
  };
}

/** The operations of a path, each with its method in requests. */
function operationsOf(item: Json): readonly (readonly [method: string, operation: unknown])[] {
  const { additionalOperations } = item;
  const fixed = METHODS.filter((method) => Object.hasOwn(item, method) && item[method] !== undefined);
  const others = isObject(additionalOperations) ? Object.entries(additionalOperations) : [];
  return [...fixed.map((method) => [method.toUpperCase(), item[method]] as const), ...others];
}

/** The operation's id, else its method and the words of its path: `get_users_id`. */
function nameOf(method: string, path: string, id: unknown): string {
  if (typeof id === "string" && id.trim() !== "") return shortText(id, NAME_MAX);
  const words = path.slice(0, PATH_MAX).split(/[^A-Za-z0-9]+/);
  return shortText([method.toLowerCase(), ...words.filter((word) => word !== "")].join("_"), NAME_MAX);
}

function descriptionOf({ summary, description, deprecated }: Json, item: Json): string {
  const texts = [summary ?? item["summary"], description ?? item["description"]].filter(
    (one) => typeof one === "string",
  );
  const lines = [...new Set(texts.map((text) => shortText(text, DESCRIPTION_MAX)))].filter((line) => line !== "");
  return [...(deprecated === true ? ["Deprecated."] : []), ...lines].join("\n");
}

function annotationsOf(method: string, { summary }: Json): ToolAnnotations {
  const title = typeof summary === "string" ? shortText(summary, TITLE_MAX) : "";
  const isKnown = METHODS.includes(method.toLowerCase());
  return {
    ...(title === "" ? {} : { title }),
    readOnly: READS.has(method),
    ...(READS.has(method) || !isKnown ? {} : { destructive: method === "DELETE" }),
    idempotent: REPEATABLE.has(method),
    openWorld: true,
  };
}

/** A schema with the description of its parameter, which is more specific than its own. */
function described(schema: JsonSchema, description: string): JsonSchema {
  if (description === "") return schema;
  const own = isObject(schema) ? schema : {};
  const said: unknown = own["description"];
  const [byDefault = ""] = /Default: .*$/.exec(typeof said === "string" ? said : "") ?? [];
  return { ...(schema === false ? { not: {} } : own), description: describedWith(description, byDefault) };
}

function lowerCase(names: readonly string[] = []): ReadonlySet<string> {
  return new Set(names.map((name) => name.toLowerCase()));
}
