import { resolve } from "node:path";
import { agentspace } from "../../tool/contracts/agentspace.ts";
import { type RegistrationRecord, readRecord } from "../../tool/contracts/agentspace-record.ts";
import type { Engine } from "../../engine/engine.ts";
import { GloveboxError, toolError } from "../../base/errors.ts";
import { importOptional } from "../../base/optional-package.ts";
import type { ExecuteOptions } from "../../engine/execute-options.ts";
import { emptyMetadata, failure, type ToolCall, type ToolResult } from "../../base/result.ts";
import type { ToolInfo } from "../../tool/definition.ts";
import { Database } from "./database.ts";
import { type Form, writeForm } from "./form.ts";
import { writeManPage } from "./man-page.ts";
import { type KeptRecord, type RecordGrants, Records, RECORDS_LAYOUT, type Replace } from "./records.ts";
import { RegistryError } from "./records.ts";
import type { RecordIndex, SearchAnswer, SearchOptions } from "./search.ts";
import { matches, type RecordFilter, shownRecord, type ShownRecord } from "./shown-record.ts";

export interface RegistryOptions {
  /**
   * File of the records: default `.glovebox/agentspace.sqlite`. `:memory:` keeps them only for this registry's
   * lifetime.
   */
  readonly path?: string;
  /** Base folder of relative links: default the working directory. */
  readonly folder?: string;
  /** Maximum number of records: default 10,000. */
  readonly maxRecords?: number;
  /** Maximum size of the file, in bytes: default 256 MiB. */
  readonly maxBytes?: number;
}

/** Options of a registration, and settings of the record's tool. */
export interface RegisterOptions extends RecordGrants {
  /**
   * Whether to replace a record of the same id: default `false`, which refuses it. A string names the version to be
   * replaced, so that of two concurrent replacements only the first succeeds.
   */
  readonly replace?: Replace;
}

/** Part of an engine that a registry uses. */
type RegistryEngine = Pick<Engine, "register" | "unregister" | "get" | "execute">;

/** State of a record's tool in the engine. */
interface Loaded {
  readonly revision: number;
  readonly info: Promise<ToolInfo>;
}

const PATH_DEFAULT = ".glovebox/agentspace.sqlite";
const IN_MEMORY = ":memory:";
const RECORDS_DEFAULT = 10_000;
const BYTES_DEFAULT = 256 * 1024 * 1024;

/** Opens a registry whose tools an engine runs. Rejects if its file cannot be used; the message contains no path. */
export async function createRegistry(engine: RegistryEngine, options: RegistryOptions = {}): Promise<Registry> {
  const { path = PATH_DEFAULT, folder = ".", maxRecords = RECORDS_DEFAULT, maxBytes = BYTES_DEFAULT } = options;
  const database = await Database.open(path === IN_MEMORY ? path : resolve(path), maxBytes, RECORDS_LAYOUT);
  return new Registry(engine, database, new Records(database, maxRecords), resolve(folder));
}

/**
 * AgentSpace's public registry: persistent records of tools, which are loaded at their first call. Several processes
 * may share its file. Created by `createRegistry`.
 */
export class Registry implements AsyncDisposable {
  readonly #engine: RegistryEngine;
  readonly #database: Database;
  readonly #records: Records;
  readonly #folder: string;
  readonly #loaded = new Map<string, Loaded>();
  /**
   * Tools that this registry registered in the engine, as the engine had them then: a difference shows outside
   * interference.
   */
  readonly #given = new Map<string, ToolInfo | undefined>();
  /** Last queued operation on each tool. */
  readonly #working = new Map<string, Promise<unknown>>();
  #index: { readonly state: string; readonly index: RecordIndex } | null = null;
  #isClosed = false;

  /** @internal Use `createRegistry`. */
  constructor(engine: RegistryEngine, database: Database, records: Records, folder: string) {
    this.#engine = engine;
    this.#database = database;
    this.#records = records;
    this.#folder = folder;
  }

  /**
   * Stores a record without loading its tool. Throws a `ContractError` with a pointer if the record is invalid or its
   * runtime is unknown, and a `RegistryError`: `conflict`, `full`, `too_large`.
   */
  register(record: unknown, options: RegisterOptions = {}): ShownRecord {
    this.#requireOpen();
    const read = readRecord(record);
    agentspace.readTool(read);
    const { replace = false, ...grants } = options;
    if (this.#isForeign(read.tool_id)) {
      throw new RegistryError("conflict", `the engine has a tool "${read.tool_id}" that is not of this registry`);
    }
    this.#records.put({ record: read, path: this.#pathOf(read), grants }, replace);
    return shownRecord({ record: read });
  }

  get(toolId: string): ShownRecord | undefined {
    const kept = this.#find(toolId);
    return kept && shownRecord(kept);
  }

  /** Records that match a filter, ordered by id. */
  list(filter: RecordFilter = {}): readonly ShownRecord[] {
    this.#requireOpen();
    const records = this.#records.all().filter(({ record }) => matches(record, filter));
    return records.map(shownRecord);
  }

  /** Removes a record, and unregisters its tool. Resolves with whether the record existed. */
  async remove(toolId: string): Promise<boolean> {
    this.#requireOpen();
    const existed = this.#records.delete(toolId);
    await this.#unload(toolId);
    return existed;
  }

  /**
   * Loads a tool, as its first call would. Rejects with a `RegistryError` if it is unknown, and with the engine's error
   * if it cannot be loaded.
   */
  async load(toolId: string): Promise<ToolInfo> {
    this.#requireOpen();
    const loaded = this.#loaded.get(toolId);
    const isInForce = loaded !== undefined && loaded.revision === this.#records.revision(toolId);
    if (isInForce && !this.#isTakenAway(toolId)) return loaded.info;
    const kept = this.#find(toolId);
    if (kept !== undefined) return this.#load(kept);
    await this.#unload(toolId);
    throw new RegistryError("not_found", `there is no tool "${toolId.slice(0, 128)}"`);
  }

  /** Runs a call as an engine does, after loading its tool if this is the first one. Never rejects. */
  async execute(call: ToolCall, options: ExecuteOptions = {}): Promise<ToolResult> {
    const name: unknown = call?.name;
    try {
      if (typeof name === "string") await this.load(name);
    } catch (error) {
      // The engine reports an unknown tool itself, to its listeners too. A tool of that name that the engine has anyway
      // is not this registry's and must not be called through it.
      const isNowhere = error instanceof RegistryError && error.code === "not_found" && !this.#engine.get(String(name));
      if (!isNowhere) return loadFailure(call, error);
    }
    return this.#engine.execute(call, options);
  }

  /** Finds tools by their ids, descriptions, tags, types and fields. An empty query finds all. */
  search(query: string, options: SearchOptions = {}): Promise<SearchAnswer> {
    this.#requireOpen();
    return this.#search(query, options);
  }

  async #search(query: string, options: SearchOptions): Promise<SearchAnswer> {
    const load = () => import("./search.ts");
    const { RecordIndex } = await importOptional("the search of AgentSpace's registry", ["minisearch"], load);
    const state = this.#records.state();
    if (this.#index?.state !== state) this.#index = { state, index: new RecordIndex(this.list()) };
    return this.#index.index.search(query, options);
  }

  /** Manual page of a tool in Markdown; `undefined` if there is no such record. */
  manPage(toolId: string): string | undefined {
    const record = this.get(toolId);
    return record && writeManPage(record);
  }

  /** Form for a tool's input; `undefined` if there is no such record. */
  form(toolId: string): Form | undefined {
    const record = this.get(toolId);
    return record && writeForm(record);
  }

  /** Unregisters the registry's tools, and closes its file. The records stay. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.all([...this.#loaded.keys(), ...this.#given.keys()].map((toolId) => this.#unload(toolId)));
    this.#database[Symbol.dispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #find(toolId: string): KeptRecord | undefined {
    this.#requireOpen();
    return typeof toolId === "string" ? this.#records.get(toolId) : undefined;
  }

  /** Loads a tool once for all waiting callers. A failed load is retried by the next call. */
  #load({ record, path, grants, revision }: KeptRecord): Promise<ToolInfo> {
    const { tool_id: toolId } = record;
    if (this.#isForeign(toolId)) {
      return Promise.reject(
        new RegistryError("conflict", `the engine has a tool "${toolId}" that is not of this registry`),
      );
    }
    const info = this.#inOrder(toolId, async () => {
      try {
        // With any other contract a module names its tools itself, and could replace another tool.
        const registered = await this.#engine.register({ ...grants, path, record, contract: "agentspace" });
        this.#given.set(toolId, this.#engine.get(toolId));
        return registered;
      } catch (error) {
        throw inTermsOf(record, path, error);
      }
    });
    const loading: Loaded = { revision, info };
    this.#loaded.set(toolId, loading);
    info.catch(() => {
      if (this.#loaded.get(toolId) === loading) this.#loaded.delete(toolId);
    });
    return info;
  }

  async #unload(toolId: string): Promise<void> {
    this.#loaded.delete(toolId);
    await this.#inOrder(toolId, async () => {
      // The tool may have been loaded again in the meantime.
      if (this.#loaded.has(toolId) || !this.#given.has(toolId)) return;
      const isOurs = this.#engine.get(toolId) === this.#given.get(toolId);
      this.#given.delete(toolId);
      if (isOurs) await this.#engine.unregister(toolId);
    });
  }

  /** Runs operations on one tool one at a time, so that the last one wins. */
  #inOrder<T>(toolId: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#working.get(toolId) ?? Promise.resolve()).then(work, work);
    this.#working.set(toolId, done);
    const leave = () => {
      if (this.#working.get(toolId) === done) this.#working.delete(toolId);
    };
    done.then(leave, leave);
    return done;
  }

  #isForeign(toolId: string): boolean {
    if (this.#engine.get(toolId) === undefined) return false;
    return this.#given.has(toolId) ? this.#isTakenAway(toolId) : !this.#loaded.has(toolId);
  }

  /** Whether something else has unregistered or replaced the tool that this registry registered. */
  #isTakenAway(toolId: string): boolean {
    if (!this.#given.has(toolId) || this.#working.has(toolId)) return false;
    return this.#engine.get(toolId) !== this.#given.get(toolId);
  }

  #pathOf({ tool_source_code_link: link }: RegistrationRecord): string {
    return URL.canParse(link) ? link : resolve(this.#folder, link);
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new RegistryError("closed", "the registry is closed");
  }
}

/** Replaces the resolved path in an engine's error with the record's own link. */
function inTermsOf({ tool_source_code_link: link }: RegistrationRecord, path: string, error: unknown): unknown {
  if (!(error instanceof GloveboxError) || path === link) return error;
  return new GloveboxError(error.code, error.message.replaceAll(path, link), error.details);
}

/** Result of a call whose tool could not be loaded. */
function loadFailure({ id, name }: ToolCall, error: unknown): ToolResult {
  const metadata = emptyMetadata(typeof id === "string" ? id.slice(0, 256) : "", name, 0);
  if (error instanceof GloveboxError) return failure(toolError(error.code, error.message, error.details), metadata);
  // Other errors may contain a path of the host.
  const message = error instanceof RegistryError ? error.message : "the tool's record could not be read";
  const isMissing = error instanceof RegistryError && error.code === "not_found";
  return failure(toolError(isMissing ? "tool_not_found" : "load_error", message), metadata);
}
