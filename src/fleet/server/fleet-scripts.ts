import { hash, randomBytes } from "node:crypto";
import { BoundedCache } from "../../base/bounded-cache.ts";
import { sealConfig } from "../wire/config-seal.ts";
import type { FleetScript, MachineMessage, ServerMessage } from "../wire/messages.ts";
import type { TextPublisher } from "../texts/texts.ts";
import { NO_CONFIG, type ToolScript } from "../../base/protocol/script.ts";

/** Tools whose keys are remembered. */
const SCRIPTS_MAX = 10_000;

/** The tools that a server brings to its fleet. */
export class FleetScripts {
  readonly #texts: TextPublisher;
  readonly #keys = new WeakMap<ToolScript, string>();
  /** A registration has several: its module as it was inspected, before anything was known of it, and each of its tools. */
  readonly #registrations = new BoundedCache<Set<string>>(SCRIPTS_MAX);
  readonly #scripts = new BoundedCache<ToolScript>(SCRIPTS_MAX);
  /** A config may be short enough to be found by trying: no digest of it leaves this process unsalted. */
  readonly #salt = randomBytes(32).toString("hex");

  constructor(texts: TextPublisher) {
    this.#texts = texts;
  }

  /** A tool as it travels, once its code is where machines find it. Rejects with a `TextFailure`. */
  async upload(script: ToolScript): Promise<FleetScript> {
    const text = await this.#texts.publish(script.text);
    const key = this.#keyOf(script, text.hash);
    const { text: _text, config, ...rest } = script;
    return { ...rest, key, text, hasConfig: config !== NO_CONFIG };
  }

  /** A tool is gone; calls of it may still run. */
  forget(key: string): void {
    for (const known of this.#registrations.get(key) ?? []) {
      // Another registration may be of the same tool.
      if (this.#scripts.get(known)?.key === key) this.#scripts.delete(known);
    }
    this.#registrations.delete(key);
  }

  /** Sends the part of a tool that a machine lacks. */
  async answer(need: Extract<MachineMessage, { readonly kind: "need" }>): Promise<ServerMessage> {
    const script = this.#scripts.get(need.script);
    if (script === undefined) return { kind: "have", script: need.script };
    if (need.what === "config") {
      return { kind: "have", script: need.script, config: sealConfig(script.config, need.publicKey, need.script) };
    }
    const { hash: lost } = await this.#texts.publish(script.text);
    // The machine cannot use the stored text.
    this.#texts.forget(lost, "damaged");
    return { kind: "have", script: need.script, text: await this.#texts.publish(script.text) };
  }

  /**
   * All that a machine runs a tool by. It is not the tool's mark (`tool/registered-tool.ts`): that has what its server does with the output, and
   * nothing of isolates; and this may be read in Redis, so a config makes the key this server's own.
   */
  #keyOf(script: ToolScript, textHash: string): string {
    const known = this.#keys.get(script);
    if (known !== undefined && this.#scripts.get(known) !== undefined) return known;
    const { name, version, runtime, isolation, memoryMb, contract, config } = script;
    const salted = config === NO_CONFIG ? NO_CONFIG : `${this.#salt}${config}`;
    const key = hash(
      "sha256",
      JSON.stringify([name, version, runtime, isolation, memoryMb, contract, salted, textHash]),
    );
    this.#keys.set(script, key);
    this.#scripts.set(key, script);
    this.#registrations.set(script.key, (this.#registrations.get(script.key) ?? new Set()).add(key));
    return key;
  }
}
