import { cutLimits } from "../base/limits.ts";
import type { BrokerClient } from "../broker/thread/broker-client.ts";
import type { RegisteredTool } from "../tool/registered-tool.ts";
import type { Registrar } from "../tool/registrar.ts";
import type { ToolRegistry } from "../tool/registry.ts";
import { lintTool } from "./explanation.ts";
import type { Events } from "./telemetry/events.ts";

/** Adds tools to the registry and removes them, with their events; drops a version's script after its last call. */
export class InstalledTools {
  readonly #registry: ToolRegistry;
  readonly #registrar: Registrar;
  readonly #broker: BrokerClient;
  readonly #events: Events;

  constructor(registry: ToolRegistry, registrar: Registrar, broker: BrokerClient, events: Events) {
    this.#registry = registry;
    this.#registrar = registrar;
    this.#broker = broker;
    this.#events = events;
  }

  /**
   * Throws a `GloveboxError`, and adds no tool, if the engine is closing, the registry has no room for all of them, or
   * one has the name of another registrant's tool.
   */
  putAll(tools: readonly RegisteredTool[]): void {
    this.#registrar.requireOpen();
    this.#registry.requireRoom(tools);
    this.#registry.requireOwn(tools);
    for (const tool of tools) this.put(tool);
  }

  put(tool: RegisteredTool): void {
    const { name, tenant } = tool.info;
    const found = this.#registry.get(name, tenant);
    const old = found?.info.tenant === tenant ? found : undefined;
    this.#registry.set(tool);
    if (old !== undefined) this.#retire(old);
    const findings = lintTool(tool, this.#broker);
    const cut = cutLimits(tool.limits, tool.askedLimits);
    this.#events.emit("tool:register", { info: tool.info, replaced: old !== undefined, findings, cut });
  }

  /** Returns whether the tool existed. `tenant`: the owner of the tool. */
  remove(name: string, tenant?: string): boolean {
    const tool = this.#registry.get(name, tenant);
    if (tool === undefined || tool.info.tenant !== tenant) return false;
    this.#registry.delete(name, tenant);
    this.#retire(tool);
    this.#events.emit("tool:unregister", { name, ...(tenant === undefined ? {} : { tenant }) });
    return true;
  }

  /** Called when a call of the tool has ended. */
  release({ usage, script }: RegisteredTool): void {
    usage.calls--;
    if (usage.retired && usage.calls === 0) this.#registrar.forget(script.key);
  }

  #retire({ usage, script }: RegisteredTool): void {
    usage.retired = true;
    if (usage.calls === 0) this.#registrar.forget(script.key);
    else this.#registrar.withdraw(script.key);
  }
}
