import { resolve } from "node:path";
import { GloveboxError, StoreError, toolError } from "../../kernel/base/errors.ts";
import { refusedCall, type ToolCall, type ToolResult } from "../../kernel/base/result.ts";
import type { ExecuteOptions } from "../../kernel/engine/execute-options.ts";
import { agentspace } from "./contract/agentspace.ts";
import { type RegistrationRecord, readRecord } from "./contract/record.ts";
import type { ToolDescription } from "../../kernel/tool/contracts/contract.ts";
import type { ToolInfo } from "../../kernel/tool/definition.ts";
import { Database } from "./database.ts";
import { type Form, writeForm } from "./form.ts";
import { writeManPage } from "./man-page.ts";
import {
  type KeptRecord,
  type RecordGrants,
  Records,
  RECORDS_LAYOUT,
  type RecordVersion,
  RegistryError,
  type Replace,
} from "./records.ts";
import { choose, type SearchAnswer, type SearchHit, type SearchOptions } from "./search/ranking.ts";
import type { Query } from "./search/record-index.ts";
import { SearchThread } from "./search/search-thread.ts";
import { matches, type RecordFilter, shownRecord, type ShownRecord } from "./shown-record.ts";
import type { RecordSummary, Registration } from "./summary.ts";
import { BY_OPERATOR, type FindUpload, type RegistryEngine, ToolLoader, UPLOAD } from "./tool-loader.ts";

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

/** The tenant whose records are included, in addition to those of all tenants. Default: only those of all tenants. */
export interface WhoseRecords {
  readonly tenant?: string;
}

/** Options of a registration, and settings of the record's tool. */
export interface RegisterOptions extends RecordGrants, WhoseRecords {
  /**
   * Whether to replace a record of the same id: default `false`, which refuses it. A string names the version to be
   * replaced, so that of two concurrent replacements only the first succeeds.
   */
  readonly replace?: Replace;
  /** Registrant of the tool: see `ToolInfo.registrant`. Default `operator`. */
  readonly registeredBy?: string;
  /** Place of the upload to which the record's link refers. Default: the link is fetched, or is a path. */
  readonly upload?: string;
}

/** A record with its registration. */
export interface RegisteredRecord {
  readonly record: ShownRecord;
  readonly registration: Registration;
}

/** Some of the records, and the start of the next ones. */
export interface RecordPage {
  readonly tools: readonly RecordSummary[];
  /** Absent if these are the last ones. A page may be short, or empty, though more follow. */
  readonly next?: string;
}

/** Records that were found, as a list has them. */
export interface FoundSummaries {
  readonly hits: readonly (RecordSummary & { readonly score: number })[];
}

const PATH_DEFAULT = ".glovebox/agentspace.sqlite";
const IN_MEMORY = ":memory:";
const RECORDS_DEFAULT = 10_000;
const BYTES_DEFAULT = 256 * 1024 * 1024;
const HITS_DEFAULT = 10;
const HITS_MAX = 100;
/** Maximum number of candidates for a ranking. */
const CANDIDATES_MAX = 100;
/** Hits are looked up one by one: some may no longer be in force. */
const SPARE_HITS = 50;
const PAGE_DEFAULT = 100;
/** Maximum number of records that one page examines: a filter may exclude most of them. */
const PAGE_MAX = 500;

/** Opens a registry whose tools an engine runs. Rejects if its file cannot be used; the message contains no path. */
export async function createRegistry(engine: RegistryEngine, options: RegistryOptions = {}): Promise<Registry> {
  return openRegistry(engine, options, () => Promise.resolve(undefined));
}

/** Opens a registry. `findUpload`: finds the uploads of an asset store. */
export async function openRegistry(
  engine: RegistryEngine,
  options: RegistryOptions,
  findUpload: FindUpload,
): Promise<Registry> {
  const { path = PATH_DEFAULT, folder = ".", maxRecords = RECORDS_DEFAULT, maxBytes = BYTES_DEFAULT } = options;
  const database = await Database.open(path === IN_MEMORY ? path : resolve(path), maxBytes, RECORDS_LAYOUT);
  const records = new Records(database, maxRecords);
  return new Registry(engine, database, records, new ToolLoader(engine, records, findUpload), resolve(folder));
}

/**
 * AgentSpace's public registry: persistent records of tools, which are loaded at their first call. Several processes
 * may share its file. Created by `createRegistry`.
 */
export class Registry implements AsyncDisposable {
  readonly #engine: RegistryEngine;
  readonly #database: Database;
  readonly #records: Records;
  readonly #loader: ToolLoader;
  readonly #search: SearchThread;
  readonly #folder: string;
  /** Loads tools for the calls that tools and programs make. */
  readonly #loading: Disposable | undefined;
  #isClosed = false;

  /** @internal Use `createRegistry`. */
  constructor(engine: RegistryEngine, database: Database, records: Records, loader: ToolLoader, folder: string) {
    this.#engine = engine;
    this.#database = database;
    this.#records = records;
    this.#loader = loader;
    this.#search = new SearchThread(records);
    this.#folder = folder;
    this.#loading = engine.loadWith?.((call, whose) => this.prepare(call, whose));
  }

  /**
   * Stores a record without loading its tool. Throws a `ContractError` with a pointer if the record is invalid or its
   * runtime is unknown, and a `RegistryError`: `conflict`, `full`, `too_large`.
   */
  register(record: unknown, options: RegisterOptions = {}): ShownRecord {
    this.#requireOpen();
    const read = readRecord(record);
    agentspace.readTool(read);
    const { replace = false, tenant = "", registeredBy = BY_OPERATOR, upload, ...grants } = options;
    this.#loader.requireFree({ toolId: read.tool_id, tenant });
    const path = upload === undefined ? this.#pathOf(read) : `${UPLOAD}${upload}`;
    return shownRecord(this.#records.put({ record: read, path, grants, tenant, registeredBy }, replace));
  }

  get(toolId: string, whose: WhoseRecords = {}): ShownRecord | undefined {
    return this.find(toolId, whose)?.record;
  }

  /** A record, with its registrant and time of registration. */
  find(toolId: string, whose: WhoseRecords = {}): RegisteredRecord | undefined {
    const kept = this.#find(toolId, whose);
    return kept && { record: shownRecord(kept), registration: kept.registration };
  }

  /** The tool of a record, as it will be when it is loaded. */
  describe(toolId: string, whose: WhoseRecords = {}): ToolDescription | undefined {
    const kept = this.#find(toolId, whose);
    return kept && agentspace.readTool(kept.record);
  }

  /** Records that match a filter, ordered by id. */
  list({ tenant = "", ...filter }: RecordFilter & WhoseRecords = {}): readonly ShownRecord[] {
    this.#requireOpen();
    const records = this.#records.all(tenant).filter(({ record }) => matches(record, filter));
    return records.map(shownRecord);
  }

  /** Some of the records that match a filter, ordered by id. `after`: the `next` of the page before. */
  page(options: RecordFilter & WhoseRecords & { readonly after?: string; readonly limit?: number } = {}): RecordPage {
    this.#requireOpen();
    const { tenant = "", after = "", limit = PAGE_DEFAULT, ...filter } = options;
    const most = Math.min(Math.max(1, Math.floor(limit)), PAGE_DEFAULT);
    const seen = this.#records.summariesAfter(after, tenant, PAGE_MAX);
    const meant = seen.filter((summary) => matches(summary, filter));
    const tools = meant.slice(0, most);
    const last = meant.length > most ? tools.at(-1) : seen.at(-1);
    const isEnd = meant.length <= most && this.#records.summariesAfter(last?.tool_id ?? after, tenant, 1).length === 0;
    return isEnd || last === undefined ? { tools } : { tools, next: last.tool_id };
  }

  /** Versions of a record, the latest first; none if there is no such record. At most 50 are kept. */
  versions(toolId: string, { tenant = "" }: WhoseRecords = {}): readonly RecordVersion[] {
    this.#requireOpen();
    return this.#records.versions(toolId, tenant);
  }

  /** Removes a record, and unregisters its tool. Resolves with whether the record existed. */
  async remove(toolId: string, { tenant = "" }: WhoseRecords = {}): Promise<boolean> {
    this.#requireOpen();
    const existed = this.#records.delete(toolId, tenant);
    await this.#loader.unload({ toolId, tenant });
    return existed;
  }

  /**
   * Loads a tool, as its first call would. Rejects with a `RegistryError` if it is unknown, and with the engine's error
   * if it cannot be loaded.
   */
  async load(toolId: string, { tenant = "" }: WhoseRecords = {}): Promise<ToolInfo> {
    this.#requireOpen();
    return this.#loader.load(toolId, tenant);
  }

  /**
   * Loads the tool of a call, if it is one of this registry and not loaded. Resolves with the call's result if it cannot
   * be loaded, and with `null` if the engine may run the call.
   */
  async prepare(call: ToolCall, { tenant }: Pick<ExecuteOptions, "tenant">): Promise<ToolResult | null> {
    const name: unknown = call?.name;
    if (typeof name !== "string" || this.#loader.isElsewhere(name, tenantOf(tenant))) return null;
    try {
      await this.load(name, { tenant: tenantOf(tenant) });
      return null;
    } catch (error) {
      // The engine reports an unknown tool itself, to its listeners too.
      return error instanceof RegistryError && error.code === "not_found" ? null : loadFailure(call, error);
    }
  }

  /** Runs a call as an engine does, after loading its tool if this is the first one. Never rejects. */
  async execute(call: ToolCall, options: ExecuteOptions = {}): Promise<ToolResult> {
    const name: unknown = call?.name;
    try {
      if (typeof name === "string") await this.load(name, { tenant: tenantOf(options.tenant) });
    } catch (error) {
      // The engine reports an unknown tool itself, to its listeners too. A tool of that name that the engine has anyway
      // is not this registry's and must not be called through it.
      const isNowhere =
        error instanceof RegistryError &&
        error.code === "not_found" &&
        !this.#engine.get(String(name), { tenant: tenantOf(options.tenant) });
      if (!isNowhere) return loadFailure(call, error);
    }
    return this.#engine.execute(call, options);
  }

  /**
   * Finds tools by their ids, descriptions, tags, types and fields. An empty query finds all. Rejects with a
   * `RegistryError`, `busy`, if too many searches wait, or the index is still built.
   */
  async search(query: string, options: SearchOptions = {}): Promise<SearchAnswer> {
    this.#requireOpen();
    const { rank, rankMs, limit = HITS_DEFAULT, tenant = "", ...filter } = options;
    const most = Math.min(Math.max(1, Math.floor(limit)), HITS_MAX);
    const asked = { text: query, filter, tenant };
    const hitOf = (revision: number, score: number): SearchHit | undefined => {
      const kept = this.#records.recordAt(revision);
      return kept && { tool_id: kept.record.tool_id, score, record: shownRecord(kept) };
    };
    if (rank !== undefined) {
      // Hits first, then all other records: a ranking may use synonyms.
      const candidates = await this.#hits({ ...asked, most: CANDIDATES_MAX, withOthers: true }, hitOf);
      const chosen = await choose(rank, query, candidates, rankMs);
      if (chosen !== undefined) return { hits: chosen.slice(0, most), rankedBy: "ranking" };
    }
    return { hits: await this.#hits({ ...asked, most, withOthers: false }, hitOf), rankedBy: "words" };
  }

  /** As `search`, with the list's fields of the records. */
  async searchSummaries(query: string, options: Omit<SearchOptions, "rank" | "rankMs">): Promise<FoundSummaries> {
    this.#requireOpen();
    const { limit = HITS_DEFAULT, tenant = "", ...filter } = options;
    const most = Math.min(Math.max(1, Math.floor(limit)), HITS_MAX);
    const hits = await this.#hits({ text: query, filter, tenant, most, withOthers: false }, (revision, score) => {
      const summary = this.#records.summaryAt(revision);
      return summary && { ...summary, score };
    });
    return { hits };
  }

  /** Hits that are in force, each once, converted to answers by `read`. */
  async #hits<Hit extends { readonly tool_id: string }>(
    query: Query,
    read: (revision: number, score: number) => Hit | undefined,
  ): Promise<readonly Hit[]> {
    const found = await this.#search.find({ ...query, most: query.most + SPARE_HITS });
    // It may have been closed meanwhile.
    this.#requireOpen();
    const hits: Hit[] = [];
    for (const { revision, score } of found) {
      if (hits.length === query.most) break;
      const hit = read(revision, score);
      if (hit === undefined) this.#search.forget(revision);
      // A tenant's own tool takes precedence over one of all tenants with the same id.
      else if (this.#records.place(hit.tool_id, query.tenant)?.revision === revision) hits.push(hit);
    }
    return hits;
  }

  /** Manual page of a tool in Markdown; `undefined` if there is no such record. */
  manPage(toolId: string, whose: WhoseRecords = {}): string | undefined {
    const record = this.get(toolId, whose);
    return record && writeManPage(record);
  }

  /** Form for a tool's input; `undefined` if there is no such record. */
  form(toolId: string, whose: WhoseRecords = {}): Form | undefined {
    const record = this.get(toolId, whose);
    return record && writeForm(record);
  }

  /** Unregisters the registry's tools, and closes its file. The records stay. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#loading?.[Symbol.dispose]();
    this.#search.close();
    await this.#loader.close();
    this.#database[Symbol.dispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #find(toolId: string, { tenant = "" }: WhoseRecords): KeptRecord | undefined {
    this.#requireOpen();
    return typeof toolId === "string" ? this.#records.get(toolId, tenant) : undefined;
  }

  #pathOf({ tool_source_code_link: link }: RegistrationRecord): string {
    return URL.canParse(link) ? link : resolve(this.#folder, link);
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new RegistryError("closed", "the registry is closed");
  }
}

/** Options of calls are unchecked here. */
function tenantOf(tenant: unknown): string {
  return typeof tenant === "string" ? tenant : "";
}

/** Result of a call whose tool could not be loaded. */
function loadFailure(call: ToolCall, error: unknown): ToolResult {
  if (error instanceof GloveboxError) return refusedCall(call, toolError(error.code, error.message, error.details));
  if (error instanceof StoreError) return refusedCall(call, toolError("store_failed", error.message));
  // Other errors may contain a path of the host.
  const message = error instanceof RegistryError ? error.message : "the tool's record could not be read";
  const isMissing = error instanceof RegistryError && error.code === "not_found";
  return refusedCall(call, toolError(isMissing ? "tool_not_found" : "load_error", message));
}
