import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError, type Server } from "@modelcontextprotocol/server";
import type { RecordPage } from "../../ecosystems/agentspace/registry.ts";

/** The manual pages of the tools of AgentSpace's registry that one client may see. */
export interface ManPages {
  /** Some of the tools, ordered by id, after that of an id. */
  page(after: string): RecordPage;
  /** A page in Markdown; `undefined` if there is no such tool. */
  read(id: string): string | undefined;
}

const PREFIX = "agentspace://tools/";
const MARKDOWN = "text/markdown";
const ID = /^[A-Za-z0-9_.-]{1,128}$/;

/** MCP capabilities of a server with such pages. */
export const RESOURCES = { resources: {} } as const;

/** Lists the pages as resources, `agentspace://tools/{id}`, and reads them. */
export function addResources(server: Server, pages: ManPages): void {
  server.setRequestHandler("resources/list", ({ params }) => {
    const { tools, next } = pages.page(params?.cursor === undefined ? "" : readCursor(params.cursor));
    const resources = tools.map(({ tool_id: id, description }) => ({
      uri: `${PREFIX}${id}`,
      name: id,
      ...(description === "" ? {} : { description }),
      mimeType: MARKDOWN,
    }));
    if (next === undefined) return { resources };
    return { resources, nextCursor: Buffer.from(next).toString("base64url") };
  });
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [
      {
        uriTemplate: `${PREFIX}{id}`,
        name: "tool",
        description: "The manual page of a tool of AgentSpace's registry.",
        mimeType: MARKDOWN,
      },
    ],
  }));
  server.setRequestHandler("resources/read", ({ params }) => {
    const { uri } = params;
    const id = uri.startsWith(PREFIX) ? uri.slice(PREFIX.length) : "";
    const text = ID.test(id) ? pages.read(id) : undefined;
    if (text === undefined) throw new ResourceNotFoundError(uri.slice(0, 256));
    return { contents: [{ uri, mimeType: MARKDOWN, text }] };
  });
}

function readCursor(cursor: string): string {
  const id = Buffer.from(cursor, "base64url").toString();
  if (ID.test(id)) return id;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "invalid cursor: it does not come from this server");
}
