import { hash, randomBytes } from "node:crypto";
import PQueue from "p-queue";
import { GloveboxError } from "../../base/errors.ts";
import { memberOf } from "../../base/json.ts";
import { copyJson } from "../../base/json-writer.ts";
import { PROGRAM_TOOLS } from "../../broker/capabilities/program-tools.ts";
import { isAmong } from "../../base/name-patterns.ts";
import type { StoredCall } from "../../store/calls/call-record.ts";
import type { DurableAnswer, TakeDurable } from "../../store/calls/durable/durable-step.ts";
import { buildProgram } from "../../tool/program/build.ts";
import { bodyOf } from "../../tool/program/frame.ts";
import { PROGRAM_NAMES, type ProgramHost } from "../../tool/program/program.ts";
import { problemError } from "../../tool/program/problem.ts";
import { ANY_ARGUMENTS, type RegisteredTool } from "../../tool/registered-tool.ts";
import type { Registrar } from "../../tool/registrar.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import { Looks } from "../durable/looks.ts";
import type { InstalledTools } from "../installed-tools.ts";
import type { Events } from "../telemetry/events.ts";
import {
  checkSnippet,
  FORMAT,
  type KeptSnippet,
  readStored,
  schemaLike,
  schemaOfOutput,
  type Snippet,
  SNIPPET_PREFIX,
  type SnippetAuthor,
  type SnippetDefinition,
  type Snippets,
  storedOf,
} from "./snippet.ts";
import { definitionOf, withInferred, withTools } from "./snippet-tool.ts";

/** Time between two looks for snippets that other engines with the same store have saved. */
const LOOK_MS = 5_000;
/** Maximum number of tools that a snippet may name. */
const TOOLS_MAX = 200;

export interface SnippetParts {
  readonly take: TakeDurable;
  readonly registrar: Pick<Registrar, "prepare" | "forget">;
  readonly registry: Pick<ToolRegistry, "get">;
  readonly tools: Pick<InstalledTools, "putAll" | "remove">;
  readonly events: Pick<Events, "emit">;
  /** `null` without a `ProgramHost`. */
  readonly check: () => Pick<ProgramHost, "check"> | null;
  /** A kept call; `undefined` if no call of the tenant has the id. */
  readonly callOf: (id: string, tenant: string) => Promise<StoredCall | undefined>;
}

/** A program, and the input, the output and the called tools of its call. */
interface TakenProgram {
  readonly code: string;
  readonly input: unknown;
  readonly output: unknown;
  readonly called: readonly string[];
}

/** Snippets in a store, each registered as a tool of its tenant. */
export class StoredSnippets implements Snippets {
  readonly #parts: SnippetParts;
  readonly #kept = new Map<string, KeptSnippet>();
  /** The reasons for which tools of snippets could not be made. */
  readonly #failures = new Map<string, string>();
  #revision: string | null = null;
  /** Reads and changes, one after the other. */
  readonly #turns = new PQueue({ concurrency: 1 });
  readonly #looks: Looks;

  constructor(parts: SnippetParts) {
    this.#parts = parts;
    const look = () => this.#turns.add(() => this.#read()).catch(() => undefined);
    this.#looks = new Looks(look, () => LOOK_MS);
  }

  /** Registers the stored snippets, and from now on those that others save. Resolves after the first try. */
  start(): Promise<void> {
    this.#looks.ask();
    return this.#looks.ended();
  }

  async close(): Promise<void> {
    this.#looks.stop();
    await this.#looks.ended();
  }

  save(definition: SnippetDefinition, author: SnippetAuthor = {}): Promise<Snippet> {
    return this.#turns.add(async () => {
      const made = await this.#made(definition, author);
      const { name, tenant, version, author: key } = made;
      const tool = await this.#toolOf(made);
      // In its stored form: a `bigint` in its schemas is written as digits.
      const kept = copyJson(made);
      try {
        const revision = newRevision();
        requireDone(await this.#parts.take({ kind: "save", snippet: storedOf(kept), revision }));
        this.#parts.tools.putAll([tool]);
      } catch (error) {
        this.#parts.registrar.forget(tool.script.key);
        throw error;
      }
      this.#kept.set(keyOf(kept), kept);
      this.#failures.delete(keyOf(kept));
      this.#parts.events.emit("snippet:save", { name, tenant, version, key });
      return this.#shown(kept);
    });
  }

  async list({ tenant = "" }: Pick<SnippetAuthor, "tenant"> = {}): Promise<readonly Snippet[]> {
    await this.#turns.add(() => this.#read());
    const own = [...this.#kept.values()].filter((kept) => kept.tenant === tenant);
    return own.sort((left, right) => (left.name < right.name ? -1 : 1)).map((kept) => this.#shown(kept));
  }

  async get(name: string, { tenant = "" }: Pick<SnippetAuthor, "tenant"> = {}): Promise<Snippet | undefined> {
    await this.#turns.add(() => this.#read());
    const kept = this.#kept.get(keyOf({ tenant, name }));
    return kept && this.#shown(kept);
  }

  delete(name: string, { tenant = "", key = null }: SnippetAuthor = {}): Promise<boolean> {
    return this.#turns.add(async () => {
      const answer = await this.#parts.take({ kind: "drop", tenant, name, revision: newRevision() });
      if (answer.kind === "missing") return false;
      requireDone(answer);
      this.#forget({ tenant, name });
      this.#parts.events.emit("snippet:delete", { name, tenant, key });
      return true;
    });
  }

  /** Registers new snippets, and removes missing ones. */
  async #read(): Promise<void> {
    const answer = await this.#parts.take({ kind: "snippets", known: this.#revision });
    if (answer.kind !== "snippets" || answer.snippets === null) return;
    const found = answer.snippets.flatMap((stored) => readStored(stored) ?? []);
    const keys = new Set(found.map(keyOf));
    for (const kept of this.#kept.values()) if (!keys.has(keyOf(kept))) this.#forget(kept);
    for (const kept of found) {
      const key = keyOf(kept);
      if (JSON.stringify(this.#kept.get(key)) === JSON.stringify(kept)) continue;
      this.#kept.set(key, kept);
      this.#failures.delete(key);
      try {
        this.#parts.tools.putAll([await this.#toolOf(kept)]);
      } catch (error) {
        this.#failures.set(key, error instanceof GloveboxError ? error.message : "it could not be registered");
      }
    }
    this.#revision = answer.revision;
  }

  #forget(snippet: Pick<KeptSnippet, "tenant" | "name">): void {
    this.#kept.delete(keyOf(snippet));
    this.#failures.delete(keyOf(snippet));
    this.#parts.tools.remove(SNIPPET_PREFIX + snippet.name, tenantOf(snippet));
  }

  async #toolOf(kept: KeptSnippet): Promise<RegisteredTool> {
    const tenant = tenantOf(kept);
    const whose = tenant === undefined ? {} : { tenant };
    const [tool] = await this.#parts.registrar.prepare(definitionOf(kept), whose);
    if (tool === undefined) throw new GloveboxError("load_error", "the snippet is no tool");
    return withTools(withInferred(tool, kept), kept.tools);
  }

  async #made(definition: SnippetDefinition, author: SnippetAuthor): Promise<KeptSnippet> {
    checkSnippet(definition);
    const { name, description, inputSchema, outputSchema = null } = definition;
    const { tenant = "", key = null } = author;
    const { code, input, output, called } = await this.#taken(definition, tenant);
    const built = await buildProgram(code, tenant);
    const problems = (await this.#parts.check()?.check(code, tenant)) ?? [];
    if (problems.length > 0) throw problemError(problems);
    const tools = [...new Set([...built.calls.map(({ tool }) => tool), ...called])].sort();
    requireTools(tools, author);
    return {
      format: FORMAT,
      name,
      tenant,
      version: hash("sha256", built.text),
      description,
      code,
      program: built.text,
      tools,
      inputSchema: inputSchema ?? (input === undefined ? ANY_ARGUMENTS : schemaLike(input)),
      outputSchema,
      inferredOutputSchema: outputSchema === null ? schemaOfOutput(output) : null,
      isInferred: inputSchema === undefined && input !== undefined,
      author: key,
      savedAt: new Date().toISOString(),
    };
  }

  async #taken({ code, callId }: SnippetDefinition, tenant: string): Promise<TakenProgram> {
    if (code !== undefined) return { code, input: undefined, output: undefined, called: [] };
    const refuse = (why: string) => new GloveboxError("invalid_arguments", `callId names no program: ${why}`);
    const call = await this.#parts.callOf(callId ?? "", tenant);
    if (call === undefined) throw refuse("no such call is kept");
    if (call.tool !== PROGRAM_NAMES.tools) throw refuse(`it is a call of ${call.tool}`);
    const { arguments: args, output, asks = [] } = call.detail ?? {};
    const [text, input] = [memberOf(args, "code"), memberOf(args, "input")];
    if (typeof text !== "string") throw refuse("its arguments were not kept; set calls.keep to everything");
    const called = asks.flatMap(({ capability, target }) => (capability === PROGRAM_TOOLS ? (target ?? []) : []));
    const given = typeof input === "object" && input !== null ? input : undefined;
    return { code: bodyOf(text), input: given, output, called };
  }

  #shown({ program: _program, format: _format, ...kept }: KeptSnippet): Snippet {
    const { tenant, tools } = kept;
    const gone = tools.find((name) => this.#parts.registry.get(name, tenant) === undefined);
    const failure = this.#failures.get(keyOf(kept)) ?? null;
    return { ...kept, unusable: failure ?? (gone === undefined ? null : `the tool ${gone} is gone`) };
  }
}

function keyOf({ tenant, name }: Pick<KeptSnippet, "tenant" | "name">): string {
  return JSON.stringify([tenant, name]);
}

/** The tenant of its tool: calls without a tenant find the tools of all tenants. */
function tenantOf({ tenant }: Pick<KeptSnippet, "tenant">): string | undefined {
  return tenant === "" ? undefined : tenant;
}

function newRevision(): string {
  return randomBytes(12).toString("base64url");
}

function requireTools(named: readonly string[], { tools }: SnippetAuthor): void {
  if (named.length > TOOLS_MAX)
    throw new GloveboxError("invalid_arguments", `a snippet may call ${TOOLS_MAX} tools, and names ${named.length}`);
  const refused = named.filter((name) => !isAmong(tools, name));
  if (refused.length === 0) return;
  const message = `the snippet names tools that its author may not call: ${refused.slice(0, 10).join(", ")}`;
  throw new GloveboxError("forbidden", message);
}

function requireDone(answer: DurableAnswer): void {
  if (answer.kind === "done") return;
  const why = answer.kind === "full" ? `${answer.bound}: delete others first` : "the store has refused it";
  throw new GloveboxError("load_error", `the snippet cannot be saved: ${why}`);
}
