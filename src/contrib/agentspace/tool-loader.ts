import type { LoadTool } from "../../kernel/engine/call/tool-loaders.ts";
import type { Engine } from "../../kernel/engine/engine.ts";
import { GloveboxError } from "../../kernel/base/errors.ts";
import { OPERATOR } from "../../kernel/broker/policy.ts";
import type { ToolInfo } from "../../kernel/tool/definition.ts";
import { type KeptRecord, type Records, RegistryError } from "./records.ts";

/** Part of an engine that a registry uses. */
export type RegistryEngine = Pick<Engine, "register" | "unregister" | "get" | "execute"> & {
  /** @internal */
  loadWith?(load: LoadTool): Disposable;
};

/** Finds the file of an upload by the place that a record has. */
export type FindUpload = (place: string) => Promise<string | undefined>;

/** State of a record's tool in the engine. */
interface LoadedTool {
  readonly revision: number;
  readonly info: Promise<ToolInfo>;
}

/** A tool's place in the engine: its name, and its tenant ("" for all tenants). */
interface ToolPlace {
  readonly toolId: string;
  readonly tenant: string;
}

/** Loads the tools of records into an engine, one version after the other. */
export class ToolLoader {
  readonly #engine: RegistryEngine;
  readonly #records: Records;
  readonly #findUpload: FindUpload;
  readonly #loaded = new Map<string, LoadedTool>();
  /** Tools that this loader registered, as the engine had them then: a difference shows outside interference. */
  readonly #given = new Map<string, ToolInfo | undefined>();
  /** Last queued operation on each tool. */
  readonly #working = new Map<string, Promise<unknown>>();

  constructor(engine: RegistryEngine, records: Records, findUpload: FindUpload) {
    this.#engine = engine;
    this.#records = records;
    this.#findUpload = findUpload;
  }

  /** Loads the tool that a tenant's call finds, unless the one in force is loaded. Rejects if it has no record. */
  async load(toolId: string, tenant: string): Promise<ToolInfo> {
    const place = this.#records.place(toolId, tenant);
    if (place === undefined) {
      // It may have been removed by another process.
      await Promise.all(placesOf(toolId, tenant).map((one) => this.unload(one)));
      throw new RegistryError("not_found", `there is no tool "${toolId.slice(0, 128)}"`);
    }
    if (tenant !== "" && place.tenant === "") await this.unload({ toolId, tenant });
    const own = { toolId, tenant: place.tenant };
    const loaded = this.#loaded.get(keyOf(own));
    if (loaded?.revision === place.revision && !this.#isTakenAway(own)) return loaded.info;
    const kept = this.#records.get(toolId, tenant);
    if (kept === undefined) throw new RegistryError("not_found", `there is no tool "${toolId.slice(0, 128)}"`);
    return this.#load(kept);
  }

  /** Whether a call of this name is for a tool that the engine has from another source, in spite of the records. */
  isElsewhere(toolId: string, tenant: string): boolean {
    const info = this.#engine.get(toolId, { tenant });
    return info !== undefined && !this.#given.has(keyOf({ toolId, tenant: info.tenant ?? "" }));
  }

  /** Throws a `RegistryError`, `conflict`, if the engine has a tool at a place that this loader did not register. */
  requireFree(place: ToolPlace): void {
    for (const one of placesOf(place.toolId, place.tenant)) {
      if (this.#isForeign(one)) {
        throw new RegistryError("conflict", `the engine has a tool "${place.toolId}" that is not of this registry`);
      }
    }
  }

  /** Unregisters the tool at a place, if this loader registered it. */
  async unload(place: ToolPlace): Promise<void> {
    const key = keyOf(place);
    this.#loaded.delete(key);
    if (!this.#given.has(key) && !this.#working.has(key)) return;
    await this.#inOrder(key, async () => {
      // The tool may have been loaded again in the meantime.
      if (this.#loaded.has(key) || !this.#given.has(key)) return;
      const isOurs = this.#inEngine(place) === this.#given.get(key);
      this.#given.delete(key);
      if (isOurs) await this.#engine.unregister(place.toolId, whose(place));
    });
  }

  async close(): Promise<void> {
    const keys = new Set([...this.#loaded.keys(), ...this.#given.keys()]);
    await Promise.all([...keys].map((key) => this.unload(JSON.parse(key) as ToolPlace)));
  }

  /** Loads a tool once for all waiting callers. A failed load is retried by the next call. */
  async #load(kept: KeptRecord): Promise<ToolInfo> {
    const { record, tenant, registration } = kept;
    const place = { toolId: record.tool_id, tenant };
    const key = keyOf(place);
    this.requireFree(place);
    const info = this.#inOrder(key, () => this.#register(kept, place));
    const loading: LoadedTool = { revision: registration.revision, info };
    this.#loaded.set(key, loading);
    info.catch(() => {
      if (this.#loaded.get(key) === loading) this.#loaded.delete(key);
    });
    return info;
  }

  async #register(kept: KeptRecord, place: ToolPlace): Promise<ToolInfo> {
    const { record, grants, registration } = kept;
    const { registered_by: registrant } = registration;
    const path = await this.#pathOf(kept);
    try {
      const former = this.#inEngine(place);
      // The engine replaces a registrant's tool only by one of the same registrant; each of a tenant's keys may replace
      // its records.
      if (former !== undefined && former.registrant !== registrant) {
        await this.#engine.unregister(place.toolId, whose(place));
      }
      // With any other contract a module names its tools itself, and could replace another tool.
      const location = { ...grants, path, record, contract: "agentspace" } as const;
      const registered = await this.#engine.register(location, { registrant, ...whose(place) });
      this.#given.set(keyOf(place), this.#inEngine(place));
      return registered;
    } catch (error) {
      throw inTermsOf(kept, path, error);
    }
  }

  async #pathOf({ path }: KeptRecord): Promise<string> {
    if (!path.startsWith(UPLOAD)) return path;
    const file = await this.#findUpload(path.slice(UPLOAD.length));
    if (file !== undefined) return file;
    throw new GloveboxError("load_error", "the record's package was uploaded, and is not among the assets here", {
      step: "fetch",
    });
  }

  /** Runs operations on one tool one at a time, so that the last one wins. */
  #inOrder<T>(key: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#working.get(key) ?? Promise.resolve()).then(work, work);
    this.#working.set(key, done);
    const leave = () => {
      if (this.#working.get(key) === done) this.#working.delete(key);
    };
    done.then(leave, leave);
    return done;
  }

  #isForeign(place: ToolPlace): boolean {
    const key = keyOf(place);
    if (this.#inEngine(place) === undefined) return false;
    return this.#given.has(key) ? this.#isTakenAway(place) : !this.#loaded.has(key);
  }

  /** Whether other code has unregistered or replaced the tool that this loader registered. */
  #isTakenAway(place: ToolPlace): boolean {
    const key = keyOf(place);
    if (!this.#given.has(key) || this.#working.has(key)) return false;
    return this.#inEngine(place) !== this.#given.get(key);
  }

  #inEngine({ toolId, tenant }: ToolPlace): ToolInfo | undefined {
    const info = this.#engine.get(toolId, { tenant });
    return (info?.tenant ?? "") === tenant ? info : undefined;
  }
}

/** Beginning of a record's path that is the place of an upload. */
export const UPLOAD = "upload:";

/** Default of `registeredBy`: the owner of the engine. */
export const BY_OPERATOR = OPERATOR;

/** Places of the tools that a tenant's call may find. */
function placesOf(toolId: string, tenant: string): readonly ToolPlace[] {
  return [...new Set([tenant, ""])].map((one) => ({ toolId, tenant: one }));
}

function keyOf({ toolId, tenant }: ToolPlace): string {
  return JSON.stringify({ toolId, tenant });
}

function whose({ tenant }: ToolPlace): { readonly tenant?: string } {
  return tenant === "" ? {} : { tenant };
}

/** Replaces the resolved path in an engine's error with the record's own link. */
function inTermsOf({ record }: KeptRecord, path: string, error: unknown): unknown {
  const { tool_source_code_link: link } = record;
  if (!(error instanceof GloveboxError) || path === link) return error;
  return new GloveboxError(error.code, error.message.replaceAll(path, link), error.details);
}
