import { hash, randomBytes } from "node:crypto";
import { BoundedCache } from "../../kernel/base/bounded-cache.ts";
import { sealConfig } from "../wire/config-seal.ts";
import type { FleetScript, MachineMessage, ServerMessage } from "../wire/messages.ts";
import type { TextPublisher } from "../texts/texts.ts";
import { NO_CONFIG, type ToolChecks, type ToolScript } from "../../kernel/base/protocol/script.ts";

/** Maximum number of remembered scripts, and of registrations. */
const SCRIPTS_MAX = 10_000;

/** The tools that a server uploads to its fleet. */
export class FleetScripts {
  readonly #texts: TextPublisher;
  readonly #keys = new WeakMap<ToolScript, string>();
  /** A registration has several scripts: its module for inspection, and each of its tools. */
  readonly #registrations = new BoundedCache<Set<string>>(SCRIPTS_MAX);
  readonly #scripts = new BoundedCache<ToolScript>(SCRIPTS_MAX);
  /** A short config could be guessed from its digest, so no unsalted digest of it leaves this process. */
  readonly #salt = randomBytes(32).toString("hex");

  constructor(texts: TextPublisher) {
    this.#texts = texts;
  }

  /** Publishes a tool's code and returns the tool's wire form. Rejects with a `TextFailure`. */
  async upload(script: ToolScript): Promise<FleetScript> {
    const { text, checks } = await this.#publish(script);
    const key = this.#keyOf(script, [text.hash, checks?.hash ?? null]);
    const { config, ...rest } = script;
    return { ...rest, key, text, checks, hasConfig: config !== NO_CONFIG };
  }

  /** The code and the checks are apart: a module's tools, and its inspection, have the same code. */
  async #publish({ text, checks }: ToolScript): Promise<Pick<FleetScript, "text" | "checks">> {
    return {
      text: await this.#texts.publish(text),
      checks: hasChecks(checks) ? await this.#texts.publish(JSON.stringify(checks)) : null,
    };
  }

  /** Forgets a closed registration; calls of its tools may still run. */
  forget(key: string): void {
    for (const known of this.#registrations.get(key) ?? []) {
      // Another registration may have the same tool.
      if (this.#scripts.get(known)?.key === key) this.#scripts.delete(known);
    }
    this.#registrations.delete(key);
  }

  /** Sends the part of a tool that a machine requests. */
  async answer(need: Extract<MachineMessage, { readonly kind: "need" }>): Promise<ServerMessage> {
    const script = this.#scripts.get(need.script);
    if (script === undefined) return { kind: "have", script: need.script };
    if (need.what === "config") {
      return { kind: "have", script: need.script, config: sealConfig(script.config, need.publicKey, need.script) };
    }
    const lost = await this.#publish(script);
    // The machine could not use one of the stored texts.
    this.#texts.forget(lost.text.hash, "damaged");
    if (lost.checks !== null) this.#texts.forget(lost.checks.hash, "damaged");
    const { text, checks } = await this.#publish(script);
    return { kind: "have", script: need.script, text, ...(checks === null ? {} : { checks }) };
  }

  /**
   * Digest of all that a machine runs a tool by. Not the tool's fingerprint (`kernel/tool/registered-tool.ts`), which covers
   * the server's handling of the output and not isolation. The key may be read in Redis, so a salted config makes it
   * specific to this server.
   */
  #keyOf(script: ToolScript, hashes: readonly (string | null)[]): string {
    const known = this.#keys.get(script);
    if (known !== undefined && this.#scripts.get(known) !== undefined) return known;
    const { name, version, runtime, isolation, memoryMb, contract, config, registrant, digest } = script;
    const salted = config === NO_CONFIG ? NO_CONFIG : `${this.#salt}${config}`;
    const key = hash(
      "sha256",
      JSON.stringify([name, version, runtime, isolation, memoryMb, contract, salted, ...hashes, registrant, digest]),
    );
    this.#keys.set(script, key);
    this.#scripts.set(key, script);
    this.#registrations.set(script.key, (this.#registrations.get(script.key) ?? new Set()).add(key));
    return key;
  }
}

function hasChecks({ input, output }: ToolChecks): boolean {
  return input !== "" || output !== "";
}
