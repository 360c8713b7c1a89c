import { GloveboxError } from "../../../kernel/base/errors.ts";
import { parseForWriting } from "../../../kernel/base/exact-json.ts";
import { describeExcess, isObject } from "../../../kernel/base/json.ts";
import { readYaml, YamlError } from "../../../kernel/base/yaml-text.ts";
import { findSchema } from "../../../kernel/tool/declarations/references.ts";
import { shortText } from "../remote-tool.ts";
import { fromSwagger } from "./swagger.ts";

/** Length of a document, in UTF-16 units. */
export const DOCUMENT_MAX = 48 * 1024 * 1024;
/** Values of a document in JSON: the largest that is published has 1.2 million. */
const VALUES_MAX = 2_000_000;
/** YAML takes far longer to read than JSON: about 10 µs for each line, and for each separator. */
const YAML_MARKS_MAX = 100_000;
const YAML_MARKS = /[\n,[{:?!&*|>#"']|-\s/g;
const VERSION = /^3\.[0-2](?:\.|$)/;
/** References that lead to references. */
const HOPS_MAX = 16;
const REF_MAX = 1_000;
const SHOWN_MAX = 100;

export type Json = Readonly<Record<string, unknown>>;

/** The reason for which an operation, or a part of it, is left out. */
export class LeftOut extends Error {
  override readonly name = "LeftOut";
}

/** A missing target of a reference: the referring part may do without it. */
export class MissingPart extends LeftOut {}

/** An untrusted OpenAPI document. `budget` limits the parts that are read. */
export class OpenApiDocument {
  readonly root: Json;
  /** Parts and characters of the document that may still be read: references and aliases make a small one large. */
  #budget = 3_000_000;

  /** Throws a `GloveboxError` with `load_error`. */
  constructor(text: string) {
    const given = readText(text);
    const root = isObject(given) && given["swagger"] === "2.0" ? fromSwagger(given) : given;
    if (!isObject(root)) throw refused("is not an object; an OpenAPI document begins with `openapi: 3.1.0`");
    const { openapi, swagger } = root;
    if (typeof openapi !== "string" || !VERSION.test(openapi)) {
      const found = swagger === undefined ? shownVersion(openapi) : `Swagger ${shownVersion(swagger)}`;
      throw refused(`has the version ${found}; take one of OpenAPI 3.0 to 3.2, or of Swagger 2.0`);
    }
    this.root = root;
  }

  /** Charges parts or characters that are read. */
  spend(amount: number): void {
    this.#budget -= amount;
    if (this.#budget < 0) throw new LeftOut("the document's schemas are too large together; name fewer in `tools`");
  }

  /** The object that a value is or refers to. Throws a `LeftOut`. */
  follow(value: unknown): Json {
    let found = value;
    for (let hops = 0; hops < HOPS_MAX; hops++) {
      this.spend(1);
      if (!isObject(found)) throw new LeftOut("a part of it is not an object");
      const { $ref } = found;
      if (typeof $ref !== "string") return found;
      found = this.at($ref);
    }
    throw new LeftOut("its references lead to each other");
  }

  /** The object or boolean to which a reference leads. Throws a `LeftOut`. */
  at(ref: string): unknown {
    this.spend(1);
    const shown = shownText(ref);
    if (ref.length > REF_MAX) throw new LeftOut(`it has a reference of more than ${REF_MAX} characters`);
    if (!ref.startsWith("#")) throw new MissingPart(`it refers to ${shown}, outside of the document`);
    const found = findSchema(this.root, ref);
    if (found === undefined) throw new MissingPart(`it refers to ${shown}, which is not there`);
    return found;
  }

  /** The same; `undefined` if it leads nowhere. */
  find(ref: string): unknown {
    this.spend(1);
    return ref.length > REF_MAX ? undefined : findSchema(this.root, ref);
  }
}

export function refused(problem: string): GloveboxError {
  return new GloveboxError("load_error", `the OpenAPI document ${problem}`);
}

function readText(text: string): unknown {
  if (text.length > DOCUMENT_MAX) throw refused(`is longer than ${DOCUMENT_MAX} characters`);
  if (/^\uFEFF?\s*\{/.test(text)) return readJson(text.replace("\uFEFF", ""));
  if (isLongYaml(text)) {
    throw refused(`has more than ${YAML_MARKS_MAX} lines and marks of YAML; convert it to JSON, which is read faster`);
  }
  try {
    return readYaml(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw refused(`is not YAML: ${shortText(error.message, SHOWN_MAX)}`);
  }
}

function readJson(text: string): unknown {
  const excess = describeExcess(text, VALUES_MAX);
  if (excess !== null) throw refused(`is ${excess}`);
  try {
    return parseForWriting(text);
  } catch (error) {
    throw refused(`is not JSON: ${shortText(String(error), SHOWN_MAX)}`);
  }
}

function isLongYaml(text: string): boolean {
  let marks = 0;
  for (const _mark of text.matchAll(YAML_MARKS)) if (++marks > YAML_MARKS_MAX) return true;
  return false;
}

function shownVersion(version: unknown): string {
  return typeof version === "number" ? String(version) : shownText(version);
}

/** A text of the document in a message about it. */
export function shownText(value: unknown): string {
  return typeof value === "string" ? shortText(value, SHOWN_MAX) : "(no text)";
}
