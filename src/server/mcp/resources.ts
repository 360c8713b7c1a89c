import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError, type Server } from "@modelcontextprotocol/server";
import type { RecordPage } from "../../contrib/agentspace/registry.ts";
import type { ModelRunner, RunOptions } from "../../kernel/tool/contracts/runner.ts";
import { READ_OUTPUT } from "../../kernel/tool/program/program.ts";

/** The manual pages of the tools of AgentSpace's registry that one client may see. */
export interface ManPages {
  /** Some of the tools, ordered by id, after that of an id. */
  page(after: string): RecordPage;
  /** A page in Markdown; `undefined` if there is no such tool. */
  read(id: string): string | undefined;
}

/** Resources of a client. */
export interface Resources {
  readonly manPages: ManPages | undefined;
  /** Reads on in long outputs. */
  readonly model: ModelRunner | undefined;
}

const PREFIX = "agentspace://tools/";
const MARKDOWN = "text/markdown";
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;
const SHOWN_MAX = 256;

const PAGE_TEMPLATE = {
  uriTemplate: `${PREFIX}{id}`,
  name: "tool",
  description: "The manual page of a tool of AgentSpace's registry.",
  mimeType: MARKDOWN,
};

const OUTPUT = /^glovebox:\/\/calls\/([^/?#]{1,1024})\/output(?:\?([^#]{0,8192}))?$/;
const OUTPUT_TEXT = "text/plain";
const OUTPUT_TEMPLATE = {
  uriTemplate: "glovebox://calls/{call}/output{?pointer,from,chars,search}",
  name: "output",
  description: `Pages of an output that was too long for its result, as ${READ_OUTPUT} gives them.`,
  mimeType: OUTPUT_TEXT,
};
const NUMBERS: ReadonlySet<string> = new Set(["from", "chars"]);

/** MCP capabilities of a server with resources. */
export const RESOURCES = { resources: {} } as const;

/** URI of the output of a call. */
export function outputUri(call: string): string {
  return `glovebox://calls/${encodeURIComponent(call.toWellFormed())}/output`;
}

/** Lists and reads manual pages, `agentspace://tools/{id}`, and reads long outputs, which are not listed. */
export function addResources(server: Server, { manPages, model }: Resources, options: RunOptions): void {
  server.setRequestHandler("resources/list", ({ params }) => {
    if (manPages === undefined) return { resources: [] };
    const { tools, next } = manPages.page(params?.cursor === undefined ? "" : readCursor(params.cursor));
    const resources = tools.map(({ tool_id: id, description }) => ({
      uri: `${PREFIX}${id}`,
      name: id,
      ...(description === "" ? {} : { description }),
      mimeType: MARKDOWN,
    }));
    if (next === undefined) return { resources };
    return { resources, nextCursor: cursorAfter(next) };
  });
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [
      ...(manPages === undefined ? [] : [PAGE_TEMPLATE]),
      ...(model === undefined ? [] : [OUTPUT_TEMPLATE]),
    ],
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    const query = model === undefined ? null : readOutputUri(uri);
    if (model !== undefined && query !== null) {
      const text = await readOutput(model, query, uri, options);
      return { contents: [{ uri, mimeType: OUTPUT_TEXT, text }] };
    }
    const id = uri.startsWith(PREFIX) ? uri.slice(PREFIX.length) : "";
    const text = NAME.test(id) ? manPages?.read(id) : undefined;
    if (text === undefined) throw new ResourceNotFoundError(uri.slice(0, SHOWN_MAX));
    return { contents: [{ uri, mimeType: MARKDOWN, text }] };
  });
}

async function readOutput(
  model: ModelRunner,
  query: Record<string, unknown>,
  uri: string,
  options: RunOptions,
): Promise<string> {
  const { error, output } = await model.execute({ name: READ_OUTPUT, arguments: query }, options);
  if (error === null) return String(output);
  if (error.code === "tool_not_found") throw new ResourceNotFoundError(uri.slice(0, SHOWN_MAX));
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
}

/** The arguments of `read_output` in a URI; `null` if it is another kind of URI. */
function readOutputUri(uri: string): Record<string, unknown> | null {
  const [, call, query = ""] = OUTPUT.exec(uri) ?? [];
  if (call === undefined) return null;
  const asked = [...new URLSearchParams(query)].map(([name, value]) => [
    name,
    NUMBERS.has(name) && /^\d{1,15}$/.test(value) ? Number(value) : value,
  ]);
  try {
    return { ...(Object.fromEntries(asked) as Record<string, unknown>), call: decodeURIComponent(call) };
  } catch {
    return null;
  }
}

/** The cursor of the page after a name. */
export function cursorAfter(name: string): string {
  return Buffer.from(name).toString("base64url");
}

/** The name in a cursor. Throws a `ProtocolError`. */
export function readCursor(cursor: string): string {
  const name = Buffer.from(cursor, "base64url").toString();
  if (NAME.test(name)) return name;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "invalid cursor: it does not come from this server");
}
