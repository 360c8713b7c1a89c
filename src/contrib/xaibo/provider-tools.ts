import type { PolicyRule } from "../../kernel/broker/policy.ts";
import { defineCapability } from "../../kernel/broker/capabilities/custom.ts";
import type { CustomCapability } from "../../kernel/broker/capabilities/custom-types.ts";
import { type XaiboResult, xaibo } from "./contract/xaibo.ts";
import type { Limits } from "../../kernel/base/limits.ts";
import type { ToolDefinition } from "../../kernel/tool/definition.ts";
import { wordsOf } from "./errors.ts";
import { describeUnwritable } from "./json-value.ts";
import { awaited } from "./patience.ts";
import type { ToolProviderProtocol } from "./protocol.ts";

export interface ProviderToolsOptions {
  /**
   * Name of the capability through which the tools reach the provider: a letter, then letters, digits, `_`. Default
   * `provider`.
   */
  readonly name?: string;
  /** Prefix of the tools' names, to separate two providers with the same ones. Default: none. */
  readonly prefix?: string;
  readonly tags?: readonly string[];
  readonly limits?: Partial<Limits>;
  /** Timeout of listing the tools, in milliseconds. Default 10,000. */
  readonly listMs?: number;
}

/** Tools of a provider, and the engine options that they need. */
export interface ProvidedTools {
  /** For `register`, or `createEngine({ tools })`. */
  readonly tools: readonly ToolDefinition[];
  /** For `createEngine({ capabilities })`. */
  readonly capability: CustomCapability;
  /** For `createEngine({ policy: { rules } })`: grants the capability to these tools only. */
  readonly rule: PolicyRule;
}

/**
 * Tools of a provider in this process, for an engine to call with its queue, schemas, limits, events and audit. The
 * provider is trusted code of the embedder; untrusted providers are modules, to be registered as such. Rejects with a
 * `ContractError` if a tool's definition is invalid or its name is taken, with errors of `list_tools`, and if that
 * times out.
 */
export async function providerTools(
  provider: ToolProviderProtocol,
  { name = "provider", prefix = "", tags, limits, listMs = 10_000 }: ProviderToolsOptions = {},
): Promise<ProvidedTools> {
  const listed = await awaited(() => provider.list_tools(), { ms: listMs, what: "list_tools" });
  const own = xaibo.readModule({ tools: listed }, name);
  const capability = defineCapability({
    name,
    methods: {
      execute_tool: {
        input: {
          type: "object",
          properties: { tool_name: { enum: own.map((tool) => tool.name) }, parameters: { type: "object" } },
          required: ["tool_name", "parameters"],
        },
        handler: ({ tool_name, parameters }: Asked, { callId, signal }) =>
          answer(() => provider.execute_tool(tool_name, parameters, { id: callId, signal })),
      },
    },
  });
  const tools = own.map((tool): ToolDefinition => ({
    name: prefix + tool.name,
    description: tool.description,
    inputSchema: tool.inputSchema,
    source: sourceOf(name, tool.name),
    capabilities: { [name]: true },
    ...(tags === undefined ? {} : { tags }),
    ...(limits === undefined ? {} : { limits }),
  }));
  return { tools, capability, rule: { tools: tools.map((tool) => tool.name), allow: { [name]: true } } };
}

interface Asked {
  readonly tool_name: string;
  readonly parameters: { readonly [name: string]: unknown };
}

/** Response to the tool: an exception becomes a result with the name of its class. */
interface Answered extends XaiboResult {
  readonly type?: string;
}

async function answer(execute: () => Promise<XaiboResult>): Promise<Answered> {
  try {
    const { success, result = null, error = null } = await execute();
    if (success !== true) return { success: false, error: error ?? "the tool failed, and gave no error" };
    const wrong = describeUnwritable(result);
    if (wrong === null) return { success: true, result };
    return { success: false, error: `the result cannot be written as JSON: ${wrong}`, type: "TypeError" };
  } catch (error) {
    return { success: false, error: wordsOf(error), ...(error instanceof Error ? { type: error.name } : {}) };
  }
}

/** Source of one tool's module: it calls the provider, and throws its failures. */
function sourceOf(capability: string, tool: string): string {
  return `export default async (parameters, { host }) => {
  const answer = await host.${capability}.execute_tool({ tool_name: ${JSON.stringify(tool)}, parameters });
  if (answer.success) return answer.result;
  const failure = new Error(answer.error);
  failure.name = answer.type ?? "ToolExecutionError";
  throw failure;
};
`;
}
