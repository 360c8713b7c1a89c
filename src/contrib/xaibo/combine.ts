import type { XaiboResult, XaiboTool } from "./contract/xaibo.ts";
import { READ_OUTPUT } from "../../kernel/tool/program/program.ts";
import { notFound, ToolError } from "./errors.ts";
import { awaited } from "./patience.ts";
import type { CallContext, ToolProviderProtocol } from "./protocol.ts";

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
  return combined(providers, false);
}

/** `isForModels`: the providers have one `read_output` between them. */
function combined(providers: readonly ToolProviderProtocol[], isForModels: boolean): ToolProviderProtocol {
  let readers: readonly ToolProviderProtocol[] = [];
  let owners: ReadonlyMap<string, ToolProviderProtocol> = new Map();

  const list = async (): Promise<readonly XaiboTool[]> => {
    const what = "list_tools";
    const all = await Promise.all(
      providers.map((provider) => awaited(() => provider.list_tools(), { ms: LIST_MS, what })),
    );
    const reads = all.map((tools) => isForModels && tools.some(({ name }) => name === READ_OUTPUT));
    readers = providers.filter((_provider, at) => reads[at]);
    const first = reads.indexOf(true);
    const isRepeat = (at: number, name: string): boolean => reads[at] === true && at !== first && name === READ_OUTPUT;
    const lists = all.map((tools, at) => tools.filter(({ name }) => !isRepeat(at, name)));
    owners = ownersOf(lists, providers);
    return lists.flat();
  };

  return {
    list_tools: list,
    execute_tool: async (name, parameters, context) => {
      // The tool may be newer than the last list.
      if (!owners.has(name)) await list();
      if (name === READ_OUTPUT && readers.length > 1) return readOn(readers, parameters, context);
      const owner = owners.get(name);
      if (owner !== undefined) return owner.execute_tool(name, parameters, context);
      return { success: false, result: null, error: notFound(name, [...owners.keys()]).message };
    },
    forModels: (options) =>
      combined(
        providers.map((provider) => provider.forModels?.(options) ?? provider),
        true,
      ),
  };
}

/** Requests a page of an output from one provider after the other: each has those of its own calls. */
async function readOn(
  readers: readonly ToolProviderProtocol[],
  parameters: { readonly [name: string]: unknown },
  context: CallContext | undefined,
): Promise<XaiboResult> {
  const [reader, ...others] = readers;
  const read = async () => reader?.execute_tool(READ_OUTPUT, parameters, context);
  const found = others.length === 0 ? await read() : await read().catch(() => undefined);
  if (found !== undefined && (found.success || others.length === 0)) return found;
  return readOn(others, parameters, context);
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
