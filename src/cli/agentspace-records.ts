import type { RecordFilter } from "../contrib/agentspace/shown-record.ts";
import type { RecordVersion } from "../contrib/agentspace/records.ts";
import type { Registry } from "../contrib/agentspace/registry.ts";
import type { RecordSummary, Registration } from "../contrib/agentspace/summary.ts";
import { CliError, EXIT } from "./exit.ts";
import { readConfig } from "./open-engine.ts";
import { ask, parseJson, type RemoteRequest, type RemoteServer, remoteServer, textOf } from "./remote-server.ts";

/** The place of the records: a server, or the file in the configuration. */
export interface RecordSource {
  readonly url?: string;
  readonly keyEnv?: string;
  readonly config?: string;
  /** The tenant of the records, in a file. */
  readonly tenant?: string;
}

/** A record that was stored. */
export interface StoredRecord {
  readonly tool_id: string;
  readonly registration: Registration;
}

/** A registry's records, as commands use them. */
export interface RecordStore extends AsyncDisposable {
  register(record: unknown, replace: boolean | string): Promise<StoredRecord>;
  list(filter: RecordFilter): Promise<readonly RecordSummary[]>;
  search(query: string, filter: RecordFilter, limit: number): Promise<readonly RecordSummary[]>;
  man(id: string): Promise<string>;
  versions(id: string): Promise<readonly RecordVersion[]>;
  remove(id: string): Promise<void>;
}

const ANSWERS_WITHIN_MS = 30_000;
const ANSWER_MAX_CHARS = 16 * 1024 * 1024;
const NO_REGISTRY =
  "no registry is configured: set agentspace.path in the configuration, or name a server with --url URL";
const TOOLS = "v1/agentspace/tools";

/** Opens the records of `--url`, else those of the configuration. Rejects with a `CliError`. */
export async function openRecords({ url, keyEnv, config, tenant }: RecordSource): Promise<RecordStore> {
  if (url === undefined && keyEnv !== undefined) throw new CliError(EXIT.USAGE, "--key-env goes with --url");
  if (url !== undefined && tenant !== undefined) {
    throw new CliError(EXIT.USAGE, "--tenant is for the configuration's file: a key of a server has its own tenant");
  }
  if (url !== undefined) return new ServerRecords(remoteServer(url, keyEnv));
  const { agentspace } = await readConfig(config);
  if (agentspace === undefined) throw new CliError(EXIT.USAGE, NO_REGISTRY);
  const { createRegistry } = await import("../contrib/agentspace/registry.ts");
  return new FileRecords(await createRegistry(NO_ENGINE, agentspace), tenant ?? "");
}

/** Commands change records and call no tool. */
const NO_ENGINE = {
  register: () => Promise.reject(new Error("no tool is loaded")),
  unregister: () => Promise.resolve(false),
  get: () => undefined,
  execute: () => Promise.reject(new Error("no tool is called")),
};

/** Records in a file. */
class FileRecords implements RecordStore {
  readonly #registry: Registry;
  readonly #whose: { readonly tenant: string };

  constructor(registry: Registry, tenant: string) {
    this.#registry = registry;
    this.#whose = { tenant };
  }

  async register(record: unknown, replace: boolean | string): Promise<StoredRecord> {
    const { tool_id: id } = this.#registry.register(record, { ...this.#whose, replace });
    const found = this.#registry.find(id, this.#whose) ?? noSuch(id);
    return { ...found.record, registration: found.registration };
  }

  async list(filter: RecordFilter): Promise<readonly RecordSummary[]> {
    return readPages(async (after) => this.#registry.page({ ...filter, ...this.#whose, after }));
  }

  async search(query: string, filter: RecordFilter, limit: number): Promise<readonly RecordSummary[]> {
    return (await this.#registry.searchSummaries(query, { ...filter, ...this.#whose, limit })).hits;
  }

  async man(id: string): Promise<string> {
    return this.#registry.manPage(id, this.#whose) ?? noSuch(id);
  }

  async versions(id: string): Promise<readonly RecordVersion[]> {
    const versions = this.#registry.versions(id, this.#whose);
    return versions.length === 0 ? noSuch(id) : versions;
  }

  async remove(id: string): Promise<void> {
    if (!(await this.#registry.remove(id, this.#whose))) noSuch(id);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#registry.close();
  }
}

/** Records of a server. */
class ServerRecords implements RecordStore {
  readonly #server: RemoteServer;

  constructor(server: RemoteServer) {
    this.#server = server;
  }

  async register(record: unknown, replace: boolean | string): Promise<StoredRecord> {
    const query = replace === false ? "" : `?replace=${encodeURIComponent(String(replace))}`;
    const body = JSON.stringify(record);
    return (await this.#ask(`${TOOLS}${query}`, { method: "POST", body, role: "admin" })) as StoredRecord;
  }

  async list(filter: RecordFilter): Promise<readonly RecordSummary[]> {
    return readPages(async (after) => {
      const query = queryOf(filter, { after });
      return (await this.#ask(`${TOOLS}?${query}`)) as { tools: RecordSummary[]; next?: string };
    });
  }

  async search(query: string, filter: RecordFilter, limit: number): Promise<readonly RecordSummary[]> {
    const asked = queryOf(filter, { q: query, limit: `${limit}` });
    return ((await this.#ask(`v1/agentspace/search?${asked}`)) as { hits: RecordSummary[] }).hits;
  }

  async man(id: string): Promise<string> {
    return this.#text(`${pathOf(id)}/man`, { accept: "text/markdown" });
  }

  async versions(id: string): Promise<readonly RecordVersion[]> {
    return ((await this.#ask(`${pathOf(id)}/versions`)) as { versions: RecordVersion[] }).versions;
  }

  async remove(id: string): Promise<void> {
    await this.#text(pathOf(id), { method: "DELETE", role: "admin" });
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #ask(path: string, more: Partial<RemoteRequest> = {}): Promise<unknown> {
    const found = parseJson(await this.#text(path, more));
    if (typeof found === "object" && found !== null) return found;
    throw new CliError(EXIT.FAILED, "the server's answer is not that of a registry");
  }

  async #text(path: string, more: Partial<RemoteRequest>): Promise<string> {
    const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
    const request = {
      path,
      accept: "application/json",
      signal,
      role: "execute",
      missing: "such tool, or has no registry",
    };
    const response = await ask(this.#server, { ...request, ...more });
    let text = "";
    for await (const part of textOf(response)) {
      text += part;
      if (text.length > ANSWER_MAX_CHARS) throw new CliError(EXIT.FAILED, "the server's answer is too long");
    }
    return text;
  }
}

interface Page {
  readonly tools: readonly RecordSummary[];
  readonly next?: string;
}

async function readPages(read: (after: string) => Promise<Page>): Promise<readonly RecordSummary[]> {
  const all: RecordSummary[] = [];
  for (let after: string | undefined = ""; after !== undefined;) {
    const page: Page = await read(after);
    all.push(...page.tools);
    // A server that answers with the same page again would never end.
    after = page.next !== undefined && page.next > after ? page.next : undefined;
  }
  return all;
}

function queryOf({ tags = [], type, subType }: RecordFilter, more: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(more);
  for (const tag of tags) query.append("tag", tag);
  if (type !== undefined) query.set("type", type);
  if (subType !== undefined) query.set("sub_type", subType);
  return query.toString();
}

function pathOf(id: string): string {
  return `${TOOLS}/${encodeURIComponent(id)}`;
}

function noSuch(id: string): never {
  throw new CliError(EXIT.USAGE, `there is no tool "${id}" in the registry`);
}
