import type { ConnectorFinding } from "../../kernel/base/connector-report.ts";
import { GloveboxError } from "../../kernel/base/errors.ts";
import { parseForWriting } from "../../kernel/base/exact-json.ts";
import { byteLength } from "../../kernel/base/json.ts";
import { eachInTurns } from "../../kernel/base/turns.ts";
import { isPrivateHost } from "../../kernel/broker/capabilities/fetch/connections.ts";
import { builds } from "../../kernel/tool/build/builds.ts";
import type { FrameText } from "../../kernel/tool/build/frame.ts";
import { type JobWords, problemOf } from "../../kernel/tool/build/problem.ts";
import { mayBePrivate, type ResolvedConnector } from "./options.ts";
import { undoFindings } from "./undo-options.ts";
import type { ConnectorJob, ConnectorReading, PreparedLine } from "./prepare-remote.ts";

/** Module that a build process imports: it reads answers of servers. */
const READER = new URL(`./prepare-remote.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url).href;
const DEADLINE_MS = 20_000;
/**
 * Maximum size of a document, in bytes: the limit of a job's texts. The heap of the build process holds it and its
 * values.
 */
export const DOCUMENT_MAX = 48 * 1024 * 1024;
/** Of a server's list, in bytes. */
const LIST_MAX = 8 * 1024 * 1024;
const WORDS: JobWords = {
  verb: "read",
  participle: "read",
  remedy: "name fewer operations in its option tools, or shorten the document",
};

/** A connector's tools, as its document or its server describes them. */
export interface ReadConnector extends ConnectorReading {
  readonly tools: readonly PreparedLine[];
}

/** Names of tools, by their names at their server. */
export type RemoteNames = ConnectorJob["names"];

/**
 * Reads a server's description of its tools, in a build process without files and network. `text`: a list as a text, a
 * document as its bytes, of at most `DOCUMENT_MAX`, which this process does not decode. `names`: the previous names of
 * its tools. Rejects with a `GloveboxError`, `load_error`, that names the connector.
 */
export async function readConnector(
  connector: ResolvedConnector,
  text: FrameText,
  names: RemoteNames = [],
): Promise<ReadConnector> {
  const { name, source, tools, hasDescriptions } = connector;
  const max = typeof text === "string" ? LIST_MAX : DOCUMENT_MAX;
  const length = typeof text === "string" ? byteLength(text, max) : text.reduce((sum, part) => sum + part.length, 0);
  if (length > max) throw refused(name, `is larger than ${max} bytes`);
  const [of, server] = source.kind === "openapi" ? (["openapi", source.server] as const) : (["mcp", null] as const);
  const sent = source.kind === "openapi" ? [source.headers, source.query] : [[], []];
  const [headers = [], query = []] = sent.map((pairs) => pairs.map(([key]) => key));
  const hasHeaders = source.kind === "openapi" && source.hasHeaders;
  const takesPaths = source.kind === "openapi" && source.mounts.length > 0;
  const location = source.kind === "openapi" && source.document.kind === "url" ? source.document.url : null;
  const options = { location, headers, query, tools, hasHeaders, takesPaths, hasDescriptions, names };
  const data: ConnectorJob = { of, connector: name, server, ...options };
  const job = { head: { kind: "module", module: READER, data }, texts: [text] } as const;
  const outcome = await builds.run(job, { registrant: null, isForeign: true, deadlineMs: DEADLINE_MS });
  if (outcome.kind === "refused") throw refused(name, outcome.message);
  if (outcome.kind !== "done") throw refused(name, problemOf(outcome, WORDS, DEADLINE_MS));
  const [lines = ""] = outcome.texts;
  const read: PreparedLine[] = [];
  // A line for each tool: no turn of the event loop parses more than a few.
  await eachInTurns(lines === "" ? [] : lines.split("\n"), (line) => read.push(parseForWriting(line) as PreparedLine));
  const reading = outcome.value as ConnectorReading;
  const taken = read.map(({ tool }) => tool.name);
  const findings = [...reading.findings, ...serverFindings(connector, reading), ...undoFindings(connector, taken)];
  return { ...reading, findings, tools: read };
}

/** A document may name a server of this machine or its network, which only the options may allow. */
function serverFindings(connector: ResolvedConnector, { server }: ConnectorReading): readonly ConnectorFinding[] {
  if (server === null || mayBePrivate(connector, server) || !isPrivateHost(new URL(server))) return [];
  const reason =
    "its calls will be refused: its server has an address that is not public; set private: true of the connector";
  return [{ tool: null, reason }];
}

function refused(name: string, problem: string): GloveboxError {
  return new GloveboxError("load_error", `connectors.${name}: ${problem}`);
}
