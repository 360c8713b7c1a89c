import { ConfigReader } from "../wire/config-seal.ts";
import type { FleetScript, MachineMessage, ServerMessage } from "../wire/messages.ts";
import { TextFailure } from "../texts/text-store.ts";
import type { TextReader, TextRef } from "../texts/texts.ts";
import { NO_CHECKS, NO_CONFIG, type ToolChecks, type ToolScript } from "../../kernel/base/protocol/script.ts";

/** Maximum number of tools kept ready. */
const SCRIPTS_MAX = 1_024;
/** Maximum number of fetches of a text that its server has published again: Redis may lose it more than once. */
const TRIES_MAX = 4;

export interface ToolScriptsOptions {
  readonly texts: TextReader;
  /** Sends a message to a server. */
  readonly send: (server: string, message: MachineMessage) => void;
  /** Time in which a server must answer a request for a part of a tool. */
  readonly answerMs: number;
  /** Names of the runtimes that start an interpreter. */
  readonly interpreted: ReadonlySet<string>;
  /** A tool was evicted. */
  readonly onForget: (key: string) => void;
}

interface PendingNeed {
  readonly asked: Promise<Extract<ServerMessage, { readonly kind: "have" }>>;
  readonly answer: (message: Extract<ServerMessage, { readonly kind: "have" }>) => void;
}

interface KeptScript {
  readonly script: ToolScript;
  uses: number;
}

/** The tools that a machine runs: their code by digest, their config from the server. */
export class ToolScripts {
  readonly #options: ToolScriptsOptions;
  readonly #reader = new ConfigReader();
  /** Least recently used first. */
  readonly #kept = new Map<string, KeptScript>();
  readonly #fetching = new Map<string, Promise<ToolScript>>();
  /** Requests to servers, by kind and script. */
  readonly #needs = new Map<string, PendingNeed>();

  constructor(options: ToolScriptsOptions) {
    this.#options = options;
  }

  /** A tool, ready to run. Rejects if it cannot be fetched. Every use needs a `release`. */
  async use(server: string, travelled: FleetScript): Promise<ToolScript> {
    const known = this.#kept.get(travelled.key);
    if (known !== undefined) {
      known.uses++;
      this.#kept.delete(travelled.key);
      this.#kept.set(travelled.key, known);
      return known.script;
    }
    let fetching = this.#fetching.get(travelled.key);
    if (fetching === undefined) {
      fetching = this.#fetch(server, travelled).finally(() => this.#fetching.delete(travelled.key));
      this.#fetching.set(travelled.key, fetching);
    }
    const script = await fetching;
    const kept = this.#kept.get(script.key) ?? { script, uses: 0 };
    kept.uses++;
    this.#kept.set(script.key, kept);
    this.#makeRoom();
    return kept.script;
  }

  release(key: string): void {
    const kept = this.#kept.get(key);
    if (kept !== undefined) kept.uses--;
  }

  onHave(message: Extract<ServerMessage, { readonly kind: "have" }>): void {
    const what = message.config === undefined ? "text" : "config";
    this.#needs.get(`${what} ${message.script}`)?.answer(message);
    // A server that has neither replies once, for any request.
    if (message.text === undefined && message.config === undefined) {
      this.#needs.get(`config ${message.script}`)?.answer(message);
    }
  }

  async #fetch(server: string, { text: ref, checks: checksRef, hasConfig, ...rest }: FleetScript): Promise<ToolScript> {
    const [text, checks, config] = await Promise.all([
      this.#text(server, rest.key, ref, "text"),
      checksRef === null ? null : this.#text(server, rest.key, checksRef, "checks"),
      hasConfig ? this.#config(server, rest.key) : NO_CONFIG,
    ]);
    const script = { ...rest, text, checks: checks === null ? NO_CHECKS : (JSON.parse(checks) as ToolChecks), config };
    // Servers of earlier versions do not send it.
    return this.#options.interpreted.has(rest.runtime) ? { ...script, isInterpreted: true } : script;
  }

  async #text(server: string, key: string, ref: TextRef, part: "text" | "checks"): Promise<string> {
    let place = ref;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#options.texts.fetch(place);
      } catch (error) {
        const isMissed = error instanceof TextFailure && (error.kind === "missing" || error.kind === "damaged");
        if (!isMissed || tries >= TRIES_MAX) throw error;
        const { [part]: published } = await this.#need(server, key, "text");
        if (published === undefined) throw error;
        place = published;
      }
    }
  }

  async #config(server: string, key: string): Promise<string> {
    const { config } = await this.#need(server, key, "config");
    if (config === undefined) throw new Error("the server does not have the tool any more");
    return this.#reader.open(config, key);
  }

  #need(server: string, script: string, what: "text" | "config"): PendingNeed["asked"] {
    const known = this.#needs.get(`${what} ${script}`);
    if (known !== undefined) return known.asked;
    const { promise: asked, resolve, reject } = Promise.withResolvers<Awaited<PendingNeed["asked"]>>();
    const end = (): void => {
      clearTimeout(timer);
      this.#needs.delete(`${what} ${script}`);
    };
    const timer = setTimeout(() => {
      end();
      reject(new Error("the server did not answer in time"));
    }, this.#options.answerMs);
    const answer: PendingNeed["answer"] = (message) => {
      end();
      resolve(message);
    };
    this.#needs.set(`${what} ${script}`, { asked, answer });
    this.#options.send(server, { kind: "need", script, what, publicKey: this.#reader.publicKey });
    return asked;
  }

  #makeRoom(): void {
    for (const [key, { uses }] of this.#kept) {
      if (this.#kept.size <= SCRIPTS_MAX) return;
      if (uses > 0) continue;
      this.#kept.delete(key);
      this.#options.onForget(key);
    }
  }
}
