import { GloveboxError } from "../../base/errors.ts";
import { digitsOf, parseWritten } from "../../base/exact-json.ts";
import { isObject, type JsonSchema, memberOf } from "../../base/json.ts";
import { REDACTED } from "../../store/calls/call-redaction.ts";
import type { StoredSnippet } from "../../store/calls/durable/durable-step.ts";

/** Prefix of the name of each snippet's tool. */
export const SNIPPET_PREFIX = "snippets.";
const NAME = /^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/;
const DESCRIPTION_MAX = 4_000;
/** Maximum length of a snippet as JSON, in UTF-16 units. */
const TEXT_MAX = 256 * 1024;
/** Maximum levels of a value from which a schema is made, and maximum members of each. */
const DEPTH_MAX = 6;
const MEMBERS_MAX = 100;
/** Maximum length of an inferred schema as JSON, in UTF-16 units: a snippet with a longer one could not be saved. */
const INFERRED_MAX = 32 * 1024;

/** A program to be saved as a tool. It has either `code` or `callId`. */
export interface SnippetDefinition {
  /** Its tool is called `snippets.NAME`: a name as JavaScript allows it, of 1 to 64 characters. */
  readonly name: string;
  readonly description: string;
  /** The body of an async function in TypeScript, as `run_code` takes it. */
  readonly code?: string;
  /** Id of a kept call of `run_code` with the program. */
  readonly callId?: string;
  /** JSON Schema of its `input`. Default: made from the input of the call of `callId`, or else any object. */
  readonly inputSchema?: JsonSchema;
  /** JSON Schema that each of its outputs has to match. Without it, all outputs match. */
  readonly outputSchema?: JsonSchema;
}

/** The tenant of a snippet, and the rights of its author. */
export interface SnippetAuthor {
  /** Default: calls without a tenant. */
  readonly tenant?: string | undefined;
  /** Names of tools that the author may call; each may end in `*`. Default: all. */
  readonly tools?: readonly string[] | undefined;
  /** Name of the author's key. */
  readonly key?: string | null;
}

/** A snippet as it is stored, and whether it can be called. */
export interface Snippet {
  readonly name: string;
  readonly tenant: string;
  /** SHA-256 of its program in its running form, in hexadecimal. */
  readonly version: string;
  readonly description: string;
  readonly code: string;
  /** Names of the tools that it may call, of those that its caller may call. */
  readonly tools: readonly string[];
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | null;
  /**
   * JSON Schema made from the output of the call of `callId`: models see it, and no output has to match it. `null` if
   * there is an `outputSchema`, and if that call's value is not kept, was only kept as a preview, or is `null`.
   */
  readonly inferredOutputSchema: JsonSchema | null;
  /** Whether `inputSchema` was made from one input. */
  readonly isInferred: boolean;
  /** Name of the key of its author; `null` without keys. */
  readonly author: string | null;
  readonly savedAt: string;
  /** The reason for which it cannot be called, or will fail; `null` without a known problem. */
  readonly unusable: string | null;
}

/** A snippet in its stored form. `program`: as `buildProgram` makes it. */
export interface KeptSnippet extends Omit<Snippet, "unusable"> {
  readonly format: typeof FORMAT;
  readonly program: string;
}

export const FORMAT = "glovebox-snippet/1";

/** Programs that are tools of one tenant each. */
export interface Snippets {
  /**
   * Makes a program the tool `snippets.NAME` of one tenant, in place of one of the same name: running calls end on the
   * old version. It may call the tools that its text names, or that the call of `callId` has called, of those that its
   * author may call; and at each call only those that its caller may call. Rejects with a `GloveboxError`:
   * `invalid_arguments`, with `details.problems` of the program, `forbidden` if its author may not call a named tool,
   * `load_error`; and with a `StoreError`.
   */
  save(definition: SnippetDefinition, author?: SnippetAuthor): Promise<Snippet>;
  /** Snippets of a tenant, by name. Rejects with a `StoreError`. */
  list(whose?: Pick<SnippetAuthor, "tenant">): Promise<readonly Snippet[]>;
  get(name: string, whose?: Pick<SnippetAuthor, "tenant">): Promise<Snippet | undefined>;
  /** Resolves with whether there was one. Rejects with a `StoreError`. */
  delete(name: string, whose?: SnippetAuthor): Promise<boolean>;
}

/** Checks a definition, which may be any value. Throws a `GloveboxError`. */
export function checkSnippet(given: SnippetDefinition): void {
  const refuse = (message: string): never => {
    throw new GloveboxError("invalid_arguments", message);
  };
  if (!isObject(given)) refuse("a snippet is an object with name, description, and code or callId");
  const { name, description, code, callId, inputSchema, outputSchema } = given;
  if (typeof name !== "string" || !NAME.test(name))
    refuse("name must be 1 to 64 letters, digits, _ and $, and not begin with a digit");
  if (typeof description !== "string" || description.trim() === "" || description.length > DESCRIPTION_MAX)
    refuse(`description must be a text of 1 to ${DESCRIPTION_MAX} characters`);
  if ((code === undefined) === (callId === undefined)) refuse("give either code, or the callId of a call of run_code");
  if (code !== undefined && typeof code !== "string") refuse("code must be the text of a program");
  if (callId !== undefined && typeof callId !== "string") refuse("callId must be the id of a call");
  for (const [member, schema] of Object.entries({ inputSchema, outputSchema }))
    if (schema !== undefined && !isObject(schema)) refuse(`${member} must be a JSON Schema: an object`);
}

export function storedOf(snippet: KeptSnippet): StoredSnippet {
  const { tenant, name } = snippet;
  const text = JSON.stringify(snippet);
  if (text.length <= TEXT_MAX) return { tenant, name, text };
  throw new GloveboxError("input_too_large", `a snippet may have ${TEXT_MAX} characters with its program and schemas`);
}

/** `null` for a snippet of a later version, or a damaged one. */
export function readStored({ tenant, name, text }: StoredSnippet): KeptSnippet | null {
  try {
    const kept = parseWritten(text);
    if (memberOf(kept, "format") !== FORMAT || memberOf(kept, "tenant") !== tenant) return null;
    if (memberOf(kept, "name") !== name) return null;
    const snippet = kept as KeptSnippet;
    // Earlier versions did not store this.
    return { ...snippet, inferredOutputSchema: snippet.inferredOutputSchema ?? null };
  } catch {
    return null;
  }
}

/** A schema of values like the output of a kept program; `null` if it says nothing, or is too long. */
export function schemaOfOutput(output: unknown): JsonSchema | null {
  const value = memberOf(output, "truncated") === undefined ? memberOf(output, "value") : undefined;
  if (value === undefined || value === null || value === REDACTED) return null;
  const schema = schemaLike(value);
  return JSON.stringify(schema).length > INFERRED_MAX ? null : schema;
}

/** A schema of values like one: their types, and its members. Further members are allowed. */
export function schemaLike(value: unknown, depth = 0): JsonSchema {
  if (depth > DEPTH_MAX || value === null || value === REDACTED) return {};
  if (Array.isArray(value)) {
    const kinds = new Set(value.slice(0, MEMBERS_MAX).map((one) => JSON.stringify(schemaLike(one, depth + 1))));
    const [only] = kinds;
    return kinds.size === 1 && only !== undefined
      ? { type: "array", items: JSON.parse(only) as JsonSchema }
      : { type: "array" };
  }
  if (!isObject(value)) return { type: typeof value };
  if (digitsOf(value) !== null) return { type: "integer" };
  const entries = Object.entries(value).slice(0, MEMBERS_MAX);
  const properties = Object.fromEntries(entries.map(([name, one]) => [name, schemaLike(one, depth + 1)]));
  return { type: "object", properties, required: entries.map(([name]) => name) };
}
