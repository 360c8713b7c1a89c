import type { DurableAnswer, StoredSnippet } from "../../kernel/store/calls/durable/durable-step.ts";
import {
  boundOf,
  SNIPPETS_CHARS,
  SNIPPETS_MAX,
  SNIPPETS_OF_TENANT,
  type SnippetStep,
} from "../../kernel/store/calls/durable/snippet-tables.ts";
import { Script, type ScriptRunner } from "../redis/script.ts";
import { SealError, type Seal } from "../../kernel/store/seal.ts";

/** KEYS: a hash of sealed snippets by tenant and name as digests, and the revision with the characters of all of them. */
const SAVE = new Script(`
local field, tenant, text, revision = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local held, own, old = redis.call('HLEN', KEYS[1]), 0, redis.call('HSTRLEN', KEYS[1], field)
if old == 0 then
  for _, each in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(each, 1, #tenant) == tenant then own = own + 1 end
  end
else held = held - 1 end
local chars = (tonumber(redis.call('HGET', KEYS[2], 'chars')) or 0) + #text - old
if own >= ${SNIPPETS_OF_TENANT} or held >= ${SNIPPETS_MAX} or chars > ${2 * SNIPPETS_CHARS} then return { own, held, chars } end
redis.call('HSET', KEYS[1], field, text)
redis.call('HSET', KEYS[2], 'revision', revision, 'chars', chars)
return 'done'
`);

const DROP = new Script(`
local old = redis.call('HSTRLEN', KEYS[1], ARGV[1])
if old == 0 then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HINCRBY', KEYS[2], 'chars', -old)
redis.call('HSET', KEYS[2], 'revision', ARGV[2])
return 1
`);

const READ = new Script(`
local revision = redis.call('HGET', KEYS[2], 'revision') or ''
if revision == ARGV[1] then return { revision } end
return { revision, redis.call('HGETALL', KEYS[1]) }
`);

/** Snippets in Redis, which servers share: each sealed for its tenant and name. */
export class RedisSnippets {
  readonly #runner: Pick<ScriptRunner, "run">;
  readonly #seal: Seal;
  readonly #prefix: string;

  constructor(runner: Pick<ScriptRunner, "run">, seal: Seal, prefix: string) {
    this.#runner = runner;
    this.#seal = seal;
    this.#prefix = prefix;
  }

  async take(step: SnippetStep): Promise<DurableAnswer> {
    switch (step.kind) {
      case "save": {
        const { snippet, revision } = step;
        const field = this.#fieldOf(snippet);
        const sealed = this.#seal.close(JSON.stringify(snippet), this.#about(field));
        const reply = await this.#run(SAVE, [field, this.#tenantOf(snippet.tenant), sealed, revision]);
        if (reply === "done") return { kind: "done", call: null };
        const [own = 0, snippets = 0] = reply as readonly number[];
        const chars = SNIPPETS_CHARS + 1;
        return { kind: "full", bound: boundOf({ own, snippets, chars }) ?? "there is no room for it" };
      }
      case "drop": {
        const isGone = await this.#run(DROP, [this.#fieldOf(step), step.revision]);
        return isGone === 1 ? { kind: "done", call: null } : { kind: "missing" };
      }
      case "snippets": {
        const [revision, found = null] = (await this.#run(READ, [step.known ?? "none"])) as ReadReply;
        return { kind: "snippets", revision, snippets: found === null ? null : this.#open(found) };
      }
    }
  }

  #open(found: readonly string[]): readonly StoredSnippet[] {
    return found.flatMap((field, at) => {
      const sealed = found[at + 1];
      if (at % 2 === 1 || sealed === undefined) return [];
      try {
        return [JSON.parse(this.#seal.open(sealed, this.#about(field))) as StoredSnippet];
      } catch (error) {
        // One that was sealed with another secret, or changed, does not hide the others.
        if (error instanceof SealError) return [];
        throw error;
      }
    });
  }

  #tenantOf(tenant: string): string {
    return this.#seal.shortDigest(`snippets of ${tenant}`);
  }

  #fieldOf({ tenant, name }: Pick<StoredSnippet, "tenant" | "name">): string {
    return this.#tenantOf(tenant) + this.#seal.shortDigest(`snippet ${JSON.stringify([tenant, name])}`);
  }

  #about(field: string): string {
    return `${this.#prefix}:snippet:${field}`;
  }

  /** Every script may be sent again: a repeated deletion reports that there was nothing to delete. */
  #run(script: Script, args: readonly string[]): Promise<unknown> {
    const keys = [`${this.#prefix}:snippets`, `${this.#prefix}:snippets:revision`];
    return this.#runner.run({ script, keys, args, urgency: "again" });
  }
}

type ReadReply = readonly [revision: string, found?: readonly string[]];
