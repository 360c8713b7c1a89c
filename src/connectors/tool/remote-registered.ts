import type { Operation } from "../../kernel/guest/host.ts";
import type { CapabilityRequest } from "../../kernel/broker/capabilities/capability.ts";
import { OPERATOR } from "../../kernel/broker/policy.ts";
import { NO_READERS } from "../../kernel/tool/contracts/contract.ts";
import type { CheckedDefinition } from "../../kernel/tool/definition.ts";
import { type Loaded, type RegisteredTool, registeredTool } from "../../kernel/tool/registered-tool.ts";
import type { ToolPlace } from "../../kernel/tool/registrar.ts";
import type { ConnectorSource, ResolvedConnector } from "./options.ts";
import type { PreparedLine } from "./prepare-remote.ts";
import { undoOf } from "./undo-options.ts";

/** Time of a call beyond that of its request. */
const SPARE_MS = 1_000;

/** The registry's form of a connector's tool. It has no module, so nothing is bundled or inspected. */
export function remoteTool(
  resolved: ResolvedConnector,
  { tool, checks, digest }: PreparedLine,
  engine: ToolPlace,
): RegisteredTool {
  const { name: connector, timeoutMs, source } = resolved;
  const undo = undoOf(resolved, tool.name);
  const { name, description, inputSchema, outputSchema, annotations, operation } = tool;
  const text = JSON.stringify(operation);
  const bundle = { runtime: "remote", text, bytes: text.length, sourceMap: "", sources: [] } as const;
  const inspection: Loaded = {
    ok: true,
    contract: "glovebox",
    described: "null",
    spec: "null",
    defaultExport: "function",
    isolation: "instance",
    evaluationMs: 0,
    key: engine.key,
  };
  const wallMs = timeoutMs + SPARE_MS;
  const definition: CheckedDefinition = {
    name,
    description,
    version: `0.0.0+${digest.slice(0, 12)}`,
    tags: ["connector", connector],
    // A connector may have hundreds of tools, and an isolate for each would take the place of other tools' warm ones.
    isolation: "isolate",
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    annotations,
    ...(undo === undefined ? {} : { undo }),
    capabilities: { connector: [connector], ...mountsOf(source, operation) },
    ...(wallMs > engine.limits.wallMs ? { limits: { wallMs } } : {}),
  };
  return registeredTool(definition, checks, bundle, inspection, {
    ...engine,
    readers: NO_READERS,
    registrant: OPERATOR,
  });
}

/** Capabilities of an operation whose files may be paths of mounts. */
function mountsOf(source: ConnectorSource, operation: Operation): Pick<CapabilityRequest, "fs"> {
  if (source.kind !== "openapi" || operation.kind !== "openapi" || !operation.takesPaths) return {};
  return { fs: Object.fromEntries(source.mounts.map((mount) => [mount, { mode: "ro" as const }])) };
}
