import {
  type JsonMembers,
  memberOf,
  type Place,
  readJsonMembers,
  readList,
  readMembers,
  readNumber,
  readOptional,
  readText,
  shown,
  wrong,
} from "./reading.ts";
import { type Fields, type FieldSpec, readFields, type ToolsApiSpec } from "./spec.ts";

/** The kind of a tool's code. */
export type RuntimeType = "interpreted" | "binary";

/** Descriptive metadata of a tool. */
export interface ToolMetadata {
  readonly author?: string;
  readonly version?: string;
  readonly language?: string;
  readonly license?: string;
  readonly description?: string;
}

/** The registration record of a tool. */
export interface RegistrationRecord {
  readonly tool_id: string;
  readonly tool_metadata?: ToolMetadata;
  readonly tool_search_description?: string;
  readonly tool_tags?: readonly string[];
  readonly tool_type?: string;
  readonly tool_sub_type?: string;
  /** The original value; see `runtimeOf`. */
  readonly tool_runtime_type: string;
  readonly tools_api_spec: ToolsApiSpec;
  /** Constructor argument of the tool, default `{}`. It may contain keys, so only the tool may see it. */
  readonly tool_data: JsonMembers;
  /** A folder, an archive, or a URL of one. */
  readonly tool_source_code_link: string;
  readonly tool_man_page_doc_link?: string;
}

/** The defaults in a specification's `management`, in the engine's units. */
export interface Management {
  readonly wallMs?: number;
  readonly retries?: number;
}

/** Names of the interpreted runtime. The documentation has `python` only; here the package determines the language. */
const INTERPRETED: readonly string[] = ["python", "javascript", "typescript", "node"];
const BINARY = "binary";

const ID = /^[A-Za-z0-9_.-]{1,128}$/;
const TEXT_MAX_CHARACTERS = 10_000;
const NAME_MAX_CHARACTERS = 128;
const LINK_MAX_CHARACTERS = 4_096;
const TAGS_MAX = 64;
const TAG_MAX_CHARACTERS = 64;
const RETRIES_MAX = 5;
/** One day: a longer timeout is a mistake in the unit. */
const TIMEOUT_MAX_SECONDS = 86_400;

/** Reads a registration record and ignores unknown members. Throws a `ContractError` with a JSON pointer. */
export function readRecord(value: unknown): RegistrationRecord {
  const place: Place = { value, pointer: "" };
  const members = readMembers(place);
  const at = (name: string): Place => memberOf(members, place, name);
  const optional = <T>(name: string, read: (place: Place) => T): { readonly [key: string]: T } => {
    const found = readOptional(at(name), read);
    return found === undefined ? {} : { [name]: found };
  };
  return {
    tool_id: readId(at("tool_id")),
    ...optional("tool_metadata", readMetadata),
    ...optional("tool_search_description", (one) => readText(one, TEXT_MAX_CHARACTERS)),
    ...optional("tool_tags", readTags),
    ...optional("tool_type", readName),
    ...optional("tool_sub_type", readName),
    tool_runtime_type: readRuntime(at("tool_runtime_type")),
    tools_api_spec: readSpec(at("tools_api_spec")),
    tool_data: readOptional(at("tool_data"), readJsonMembers) ?? {},
    tool_source_code_link: readLink(at("tool_source_code_link")),
    ...optional("tool_man_page_doc_link", readPageLink),
  };
}

/** The runtime of a record. */
export function runtimeOf({ tool_runtime_type: type }: Pick<RegistrationRecord, "tool_runtime_type">): RuntimeType {
  return type === BINARY ? "binary" : "interpreted";
}

/** The timeout and retries in a specification, if set. */
export function managementOf({ management }: ToolsApiSpec): Management {
  const [timeout, retries] = [presetOf(management, "timeout"), presetOf(management, "retries")];
  return {
    ...(timeout === undefined ? {} : { wallMs: millisecondsOf(timeout) }),
    ...(retries === undefined ? {} : { retries }),
  };
}

/** Removes binary rounding errors: 1.001 seconds are 1001 milliseconds. */
function millisecondsOf(seconds: number): number {
  return Number((seconds * 1_000).toPrecision(15));
}

function presetOf(management: Fields | undefined, name: string): number | undefined {
  const field: FieldSpec | undefined =
    management !== undefined && Object.hasOwn(management, name) ? management[name] : undefined;
  return typeof field?.default === "number" ? field.default : undefined;
}

function readId(place: Place): string {
  const id = readText(place, NAME_MAX_CHARACTERS);
  if (ID.test(id)) return id;
  throw wrong(place, "must be made of 1 to 128 of A-Z a-z 0-9 _ . -");
}

function readName(place: Place): string {
  return readText(place, NAME_MAX_CHARACTERS);
}

function readMetadata(place: Place): ToolMetadata {
  const members = readMembers(place);
  const found: [string, string][] = [];
  for (const name of ["author", "version", "language", "license", "description"]) {
    const most = name === "description" ? TEXT_MAX_CHARACTERS : NAME_MAX_CHARACTERS;
    const text = readOptional(memberOf(members, place, name), (one) => readText(one, most));
    if (text !== undefined) found.push([name, text]);
  }
  return Object.fromEntries(found);
}

function readTags(place: Place): readonly string[] {
  return readList(place, TAGS_MAX).map((tag) => readText(tag, TAG_MAX_CHARACTERS));
}

function readRuntime(place: Place): string {
  const known = [...INTERPRETED, BINARY];
  const { value } = place;
  if (typeof value === "string" && known.includes(value)) return value;
  if (value === undefined) throw wrong(place, `is required, one of ${known.join(", ")}`);
  throw wrong(place, `must be one of ${known.join(", ")}, and is ${shown(value)}`);
}

function readSpec(place: Place): ToolsApiSpec {
  const members = readMembers(place);
  const at = (name: string): Place => memberOf(members, place, name);
  const [input, output] = [readFields(at("input")), readFields(at("output"))];
  const management = readOptional(at("management"), readManagement);
  return management === undefined ? { input, output } : { input, output, management };
}

function readManagement(place: Place): Fields {
  const fields = readFields(place);
  const defaultOf = (name: string): Place => ({
    value: presetOf(fields, name),
    pointer: `${place.pointer}/${name}/default`,
  });
  readOptional(defaultOf("timeout"), (one) => {
    const seconds = readNumber(one);
    if (seconds <= 0 || seconds > TIMEOUT_MAX_SECONDS) {
      throw wrong(one, `must be seconds, above 0 and at most ${TIMEOUT_MAX_SECONDS}`);
    }
  });
  readOptional(defaultOf("retries"), (one) => {
    const retries = readNumber(one);
    if (!Number.isInteger(retries) || retries < 0 || retries > RETRIES_MAX) {
      throw wrong(one, `must be a whole number from 0 to ${RETRIES_MAX}`);
    }
  });
  return fields;
}

function readLink(place: Place): string {
  const link = readText(place, LINK_MAX_CHARACTERS);
  if (link.includes("\0")) throw wrong(place, "must be a path or an address");
  const { username = "", password = "" } = URL.parse(link) ?? {};
  if (username !== "" || password !== "") throw wrong(place, "must not hold a name or a password");
  return link;
}

/** Shown as a link, so it must not have a scheme that runs code, such as `javascript:`. */
function readPageLink(place: Place): string {
  const link = readText(place, LINK_MAX_CHARACTERS);
  const protocol = URL.parse(link)?.protocol;
  if (protocol === "https:" || protocol === "http:") return link;
  throw wrong(place, "must be an address that begins with https:// or http://");
}
