import { isObject } from "../../../kernel/base/json.ts";
import type { McpOperation } from "../../../kernel/guest/host.ts";
import type { ToolAnnotations } from "../../../kernel/tool/contracts/contract.ts";
import type { McpLimits } from "./limits.ts";
import { type Clean, McpError, shownWords } from "./failure.ts";
import type { ListedTools } from "./messages.ts";

/** One page of a list, as the server sent it. */
export type AskPage = (cursor: string | null) => Promise<unknown>;

type Finding = ListedTools["findings"][number];

const REASON_NAME_MAX = 64;
/** Kept length of a description, which is cut again for display. */
const DESCRIPTION_MAX = 4_000;
const HINTS = {
  readOnlyHint: "readOnly",
  destructiveHint: "destructive",
  idempotentHint: "idempotent",
  openWorldHint: "openWorld",
};

interface ListingOptions {
  readonly connector: string;
  /** Whether the server's annotations about effects are trusted. */
  readonly trustAnnotations: boolean;
  readonly limits: McpLimits;
  readonly clean: Clean;
}

/** Reads a list of tools, page by page, within the limits. A tool that cannot be read is left out, with the reason. */
export class Listing {
  readonly #options: ListingOptions;
  /** JSON by name. */
  readonly #tools = new Map<string, string>();
  readonly #findings: Finding[] = [];
  #bytes = 0;
  #ttlMs = 0;

  constructor(options: ListingOptions) {
    this.#options = options;
  }

  async read(ask: AskPage): Promise<ListedTools> {
    const cursors = new Set<string>();
    let cursor: string | null = null;
    for (let pages = 1; ; pages++) {
      const page = readPage(await ask(cursor));
      if (pages === 1) this.#ttlMs = page.ttlMs;
      if (!page.tools.every((tool) => this.#add(tool))) break;
      cursor = page.next;
      if (cursor === null) break;
      if (cursors.has(cursor) || pages === this.#options.limits.listPages) {
        this.#find(
          null,
          cursors.has(cursor) ? "its list comes back to a page" : `its list has more than ${pages} pages`,
        );
        break;
      }
      cursors.add(cursor);
    }
    return { tools: [...this.#tools.values()], findings: this.#findings, ttlMs: this.#ttlMs };
  }

  /** Returns whether more may follow. */
  #add(tool: unknown): boolean {
    const { listTools } = this.#options.limits;
    const read = readTool(tool, this.#options);
    if ("reason" in read) this.#find(read.tool, read.reason);
    else if (!this.#take(read)) return false;
    if (this.#findings.length <= listTools) return true;
    this.#find(null, `more than ${listTools} of its tools have a fault; the rest is left out`);
    return false;
  }

  /** Returns whether there was room for it. */
  #take({ name, json, warning }: Extract<ReadTool, { readonly json: string }>): boolean {
    const { listTools, listBytes } = this.#options.limits;
    if (warning !== null) this.#find(name, warning);
    const known = this.#tools.get(name);
    if (known !== undefined) {
      // A call names only one of them: the server would decide which.
      if (known !== json) this.#find(name, "two tools have this name; the first of them is taken");
      return true;
    }
    this.#bytes += json.length;
    const beyond =
      this.#tools.size === listTools ? `${listTools} tools` : this.#bytes > listBytes ? `${listBytes} bytes` : null;
    if (beyond !== null) {
      this.#find(null, `its list has more than ${beyond}; the rest is left out`);
      return false;
    }
    this.#tools.set(name, json);
    return true;
  }

  #find(tool: string | null, reason: string): void {
    this.#findings.push({
      tool: tool === null ? null : shownWords(this.#options.clean(tool), REASON_NAME_MAX),
      reason,
    });
  }
}

interface Page {
  readonly tools: readonly unknown[];
  readonly next: string | null;
  readonly ttlMs: number;
}

function readPage(result: unknown): Page {
  const { tools, nextCursor, ttlMs } = isObject(result) ? result : {};
  if (!Array.isArray(tools)) throw new McpError("its list of tools is not one", { isTransient: false });
  return {
    tools,
    next: typeof nextCursor === "string" ? nextCursor : null,
    ttlMs: typeof ttlMs === "number" && ttlMs > 0 ? ttlMs : 0,
  };
}

type ReadTool =
  | { readonly name: string; readonly json: string; readonly warning: string | null }
  | { readonly tool: string | null; readonly reason: string };

function readTool(tool: unknown, { connector, trustAnnotations, limits, clean }: ListingOptions): ReadTool {
  const { nameChars, toolBytes } = limits;
  if (!isObject(tool)) return { tool: null, reason: "a tool is not an object" };
  const { name, description, inputSchema, outputSchema, annotations, title, execution } = tool;
  if (typeof name !== "string" || name === "") return { tool: null, reason: "a tool has no name" };
  if (name.length > nameChars) return { tool: name, reason: `its name is longer than ${nameChars} characters` };
  const isTyped = isObject(outputSchema);
  if (isObject(execution) && execution["taskSupport"] === "required") {
    return { tool: name, reason: "it answers with a task of the server, which calls do not wait for" };
  }
  const said = typeof description === "string" ? description : typeof title === "string" ? title : "";
  const hints = trustAnnotations ? readHints(annotations) : {};
  const isRead = hints.readOnly === true;
  const operation: McpOperation = {
    kind: "mcp",
    connector,
    tool: name,
    isTyped,
    isRead,
    isRepeatable: isRead || hints.idempotent === true,
  };
  const json = jsonOf({
    name,
    description: clean(said).slice(0, DESCRIPTION_MAX),
    // Unusable parts of them are removed later, and reported there.
    inputSchema: isObject(inputSchema) ? inputSchema : { type: "object" },
    ...(isTyped ? { outputSchema } : {}),
    annotations: hints,
    operation,
  });
  if (json === null) return { tool: name, reason: "its schema is nested too deeply" };
  if (json.length > toolBytes) return { tool: name, reason: `it is longer than ${toolBytes} bytes` };
  return { name, json, warning: warningOf(inputSchema, outputSchema) };
}

/** A tool is worth more than its schemas. */
function warningOf(inputSchema: unknown, outputSchema: unknown): string | null {
  if (!isObject(inputSchema)) return "its input schema is not an object, so that arguments are not checked";
  if (outputSchema === undefined || isObject(outputSchema)) return null;
  return "its output schema is not an object, so that answers are not checked";
}

function readHints(annotations: unknown): ToolAnnotations {
  if (!isObject(annotations)) return {};
  const said = Object.entries(HINTS).flatMap(([hint, name]) => {
    const promise = annotations[hint];
    return typeof promise === "boolean" ? [[name, promise] as const] : [];
  });
  return Object.fromEntries(said);
}

/** `null` if the value is nested too deeply to be written. */
function jsonOf(value: object): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}
