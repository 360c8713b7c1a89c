import { type AgentConfig, AgentError, PROTOCOL } from "./agent-config.ts";
import { combineProviders } from "./combine.ts";
import type { ToolProviderProtocol } from "./protocol.ts";

const COLLECTOR = /^xaibo\..*\bToolCollector$/;

/**
 * The provider of tools that an agent's exchange gives to its orchestrator. `providers` are those of its modules;
 * collectors combine them, and two tools of one name are a `ToolNameClashError`. Throws an `AgentError` if the exchange
 * is ambiguous.
 */
export function exchanged(
  config: AgentConfig,
  providers: ReadonlyMap<string, ToolProviderProtocol>,
): ToolProviderProtocol {
  const collectors = new Set(config.modules.filter(({ module }) => COLLECTOR.test(module)).map(({ id }) => id));
  const given = (id: string): readonly string[] =>
    config.exchange.filter((one) => one.module === id && one.protocol === PROTOCOL).flatMap((one) => one.providers);
  /** `null` while a collector's own providers are looked up. */
  const made = new Map<string, ToolProviderProtocol | null>();
  const providerOf = (id: string): ToolProviderProtocol => {
    if (!collectors.has(id)) return providers.get(id) ?? combineProviders([]);
    const known = made.get(id);
    if (known === null) throw new AgentError(`exchange: the collector "${id}" is one of its own providers`);
    if (known !== undefined) return known;
    made.set(id, null);
    const provider = combineProviders(given(id).map(providerOf));
    made.set(id, provider);
    return provider;
  };

  const takers = config.modules.filter(({ id }) => !collectors.has(id) && !providers.has(id) && given(id).length > 0);
  const taken = new Set(takers.flatMap(({ id }) => given(id)));
  if (taken.size > 0) return combineProviders([...taken].map(providerOf));
  const collected = new Set([...collectors].flatMap(given));
  const ends = [...collectors, ...providers.keys()].filter((id) => !collected.has(id));
  const [end, another] = ends;
  if (another === undefined)
    return end === undefined ? combineProviders([...collectors].map(providerOf)) : providerOf(end);
  const names = ends.map((id) => `"${id}"`).join(", ");
  throw new AgentError(`exchange: ${names} all provide tools; say in the exchange which of them is meant`);
}
