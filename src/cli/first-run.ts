import type { Engine } from "../kernel/engine/engine.ts";
import { findDelegation } from "../kernel/base/os/cgroup.ts";
import { sampleInput } from "../testing/sample-input.ts";
import type { ToolInfo } from "../kernel/tool/definition.ts";

const TOOLS_SHOWN = 8;

/** Information for a person who starts a server: its tools, its address, an example call, and missing walls. */
export function firstRun(engine: Engine, url: string, isClosed: boolean): readonly string[] {
  const infos = engine.list();
  const names = infos.slice(0, TOOLS_SHOWN).map(({ name }) => name);
  const more = infos.length > names.length ? `, and ${infos.length - names.length} more` : "";
  const walls = missingWalls(engine);
  const [first] = infos;
  return [
    `  tools    ${infos.length === 0 ? "none" : `${infos.length}: ${names.join(", ")}${more}`}`,
    `  console  ${url}/`,
    ...(first === undefined ? [] : [`  call     ${curlLine(first, url, isClosed)}`]),
    ...(walls.length === 0 ? ["  walls    all that this machine can have"] : walls.map((wall) => `  missing  ${wall}`)),
  ];
}

function curlLine({ name, examples = [], inputSchema }: ToolInfo, url: string, isClosed: boolean): string {
  const example = examples.find(({ error }) => error === undefined)?.input;
  const body = JSON.stringify({ name, arguments: example ?? sampleInput(inputSchema) ?? {} });
  const key = isClosed ? ' -H "authorization: Bearer $KEY"' : "";
  return `curl ${url}/v1/execute${key} -H "content-type: application/json" -d '${body.replaceAll("'", "'\\''")}'`;
}

/** Walls around tools that this machine or configuration lacks; `glovebox doctor` has the details. */
function missingWalls(engine: Engine): readonly string[] {
  const { kind, sandbox } = engine.stats().executor;
  const groups = findDelegation();
  return [
    ...(kind === "threads" ? ["a process of their own for tools: the executor is threads"] : []),
    ...(kind === "process" && sandbox.kind === "off" ? [`a sandbox of the operating system: ${sandbox.reason}`] : []),
    ...(groups.kind === "off" ? [`limits of the operating system on memory: ${groups.reason}`] : []),
  ];
}
