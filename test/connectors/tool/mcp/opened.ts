import { realpathSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { findJail } from "../../../../src/kernel/broker/jail/jail.ts";
import type { McpFolder, McpServer } from "../../../../src/connectors/tool/mcp/server.ts";
import {
  type McpAnswer,
  McpSession,
  type McpSessionOptions,
  type McpState,
} from "../../../../src/connectors/tool/mcp/session.ts";
import type { RemoteTool } from "../../../../src/connectors/tool/remote-tool.ts";

const jail = await findJail();
/** Why servers cannot be run in a sandbox on this machine; nothing where they can. */
export const noJail = "reason" in jail ? jail.reason : undefined;

const REPOSITORY = realpathSync(fileURLToPath(new URL("../../../..", import.meta.url)));
const PROGRAMS = path.join(REPOSITORY, "test/connectors/tool/mcp/programs");

/** Variables of a server that let Node run what is in this repository. */
const QUIET = ["NODE_NO_WARNINGS", "1"] as const;

interface ServerOptions {
  readonly args?: readonly string[];
  readonly env?: { readonly [name: string]: string };
  readonly folders?: { readonly [name: string]: McpFolder };
  readonly network?: boolean;
  readonly sandbox?: "require" | "off";
  readonly cwd?: string;
}

/** A server of this folder's programs, by its name. */
export function program(name: "v1" | "v2" | "hostile", options: ServerOptions = {}): McpServer {
  return command(process.execPath, { ...options, args: [path.join(PROGRAMS, `${name}.ts`), ...(options.args ?? [])] });
}

/** A server that sees this repository and the Node that runs the test. */
export function command(
  name: string,
  { args = [], env = {}, folders = {}, network = false, sandbox = "require", cwd }: ServerOptions = {},
): McpServer {
  const node = path.dirname(process.execPath);
  const seen = [REPOSITORY, ...(node.startsWith("/usr/") || node.startsWith(REPOSITORY) ? [] : [node])];
  return {
    kind: "stdio",
    command: name,
    args,
    env: new Map([QUIET, ...Object.entries(env)]),
    cwd: cwd ?? null,
    folders: new Map([...seen.map((each) => [each, { path: each, mode: "ro" }] as const), ...Object.entries(folders)]),
    network,
    sandbox,
  };
}

/** A session that ends with the test, and what it told. */
export interface Opened {
  readonly session: McpSession;
  readonly states: readonly McpState[];
  /** Number of times that the list was said to have changed. */
  readonly changes: () => number;
  readonly tools: () => Promise<readonly RemoteTool[]>;
  readonly call: (tool: string, args?: object, more?: CallOptions) => Promise<McpAnswer>;
}

interface CallOptions {
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

export function opened(server: McpServer, options: Partial<McpSessionOptions> = {}): Opened {
  const states: McpState[] = [];
  let changes = 0;
  const session = new McpSession({
    connector: "c",
    server,
    onState: (state) => states.push(state),
    onListChanged: () => changes++,
    ...options,
  });
  onTestFinished(() => session.close());
  return {
    session,
    states,
    changes: () => changes,
    tools: async () => {
      const listed = await session.list();
      if (listed.kind === "failed") throw new Error(listed.failure.message);
      return listed.list.tools.map((tool) => JSON.parse(tool) as RemoteTool);
    },
    call: (tool, args = {}, { timeoutMs = 20_000, signal = new AbortController().signal, ...more } = {}) =>
      session.call(tool, JSON.stringify(args), { timeoutMs, signal, ...more }),
  };
}

/** The result of a call that was answered. */
export function resultOf(answer: McpAnswer): Record<string, unknown> {
  if (answer.kind === "failed") throw new Error(answer.failure.message);
  return JSON.parse(answer.text) as Record<string, unknown>;
}

/** The text of a call's only block. */
export function textOf(answer: McpAnswer): string {
  const { content } = resultOf(answer) as { readonly content: readonly { readonly text: string }[] };
  return content[0]?.text ?? "";
}

/** Why a call failed, and whether it may be repeated. */
export function failureOf(answer: McpAnswer): {
  readonly message: string;
  readonly isTransient: boolean;
  readonly isSent: boolean;
} {
  if (answer.kind === "answered") throw new Error(`it was answered: ${answer.text.slice(0, 200)}`);
  const { message, isTransient, isSent } = answer.failure;
  return { message, isTransient, isSent };
}
