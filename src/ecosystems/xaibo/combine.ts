import type { XaiboTool } from "../../tool/contracts/xaibo.ts";
import { notFound, ToolError } from "./errors.ts";
import { awaited } from "./patience.ts";
import type { ToolProviderProtocol } from "./protocol.ts";

/** Thrown if two providers list a tool of the same name, which makes calls to it ambiguous. */
export class ToolNameClashError extends ToolError {
  override readonly name = "ToolNameClashError";
}

const LIST_MS = 10_000;

/**
 * Combines several providers: calls go to the one that lists the tool. `list_tools`, and the first call, reject with a
 * `ToolNameClashError` if a name is listed twice. An unknown tool gives a failed result.
 */
export function combineProviders(providers: readonly ToolProviderProtocol[]): ToolProviderProtocol {
  let owners: ReadonlyMap<string, ToolProviderProtocol> = new Map();

  const list = async (): Promise<readonly XaiboTool[]> => {
    const what = "list_tools";
    const lists = await Promise.all(
      providers.map((provider) => awaited(() => provider.list_tools(), { ms: LIST_MS, what })),
    );
    owners = ownersOf(lists, providers);
    return lists.flat();
  };

  return {
    list_tools: list,
    execute_tool: async (name, parameters, context) => {
      // The tool may be newer than the last list.
      if (!owners.has(name)) await list();
      const owner = owners.get(name);
      if (owner !== undefined) return owner.execute_tool(name, parameters, context);
      return { success: false, result: null, error: notFound(name, [...owners.keys()]).message };
    },
  };
}

function ownersOf(
  lists: readonly (readonly XaiboTool[])[],
  providers: readonly ToolProviderProtocol[],
): ReadonlyMap<string, ToolProviderProtocol> {
  const owners = new Map<string, ToolProviderProtocol>();
  const places = new Map<string, number>();
  for (const [at, provider] of providers.entries()) {
    for (const { name } of lists[at] ?? []) {
      const other = places.get(name);
      if (other !== undefined) {
        const whose = other === at ? `twice by provider ${at}` : `by providers ${other} and ${at}`;
        throw new ToolNameClashError(`tool "${name}" is listed ${whose}; give one of them another name`);
      }
      places.set(name, at);
      owners.set(name, provider);
    }
  }
  return owners;
}
