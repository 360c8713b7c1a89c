import { GloveboxError, StoreError } from "../../base/errors.ts";
import { chunkedOf, unquoted } from "../../base/reading/chunked-text.ts";
import { cutText, type ReadableText } from "../../base/reading/cut-text.ts";
import { type PieceWork, runPieces } from "../../base/reading/run-pieces.ts";
import { forModels, outputText, type ResultMetadata, type ToolResult } from "../../base/result.ts";
import { partsOf, unreadJson } from "../../base/unread-json.ts";
import type { BrokerClient } from "../../broker/thread/broker-client.ts";
import { contentOf, mayBeContent } from "../../tool/contracts/mcp-content.ts";
import type { ModelAnswer } from "../../tool/contracts/runner.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import type { FunctionProgram } from "../../tool/program/program.ts";
import type { CallHistory } from "../call-history.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import { type ContentPart, cutContent } from "./cut-content.ts";
import { withEdit } from "./edited-call.ts";
import { KeptOutputs, type OutputOwner } from "./kept-outputs.ts";
import { MODEL_CHARS_MIN } from "../options.ts";
import { findPattern } from "./pattern-search.ts";
import { lineOf, listOf, type OutputQuery, partAt, readPage, readQuery } from "./read-output.ts";

/** Share of a cut output for its shape, and length of the rest of the notice. */
const SHAPE_SHARE = 0.1;
const NOTICE_CHARS = 520;
/** Maximum readings at once, of one tenant and of all: each may copy an output. */
const TENANT_READS = 4;
const READS = 16;
/** Maximum of them that search for patterns, which take longer: other readings always have places. */
const PATTERN_READS = 8;

interface Bounds {
  readonly owner: OutputOwner;
  readonly modelChars: number;
}

type ReadOptions = ExecuteOptions & { readonly tenant: string };

/** Parts of an engine for readings of models. */
export interface OutputsHost {
  readonly registry: ToolRegistry;
  readonly broker: Pick<BrokerClient, "work" | "accounts">;
  readonly calls: CallHistory;
  /** Runs a program as a call with these options. */
  readonly runProgram: (program: FunctionProgram, options: ExecuteOptions) => Promise<ToolResult>;
}

/** Cuts the long outputs of calls for models, and keeps them for further reading. */
export class ModelOutputs implements Disposable {
  readonly #host: OutputsHost;
  readonly #kept: KeptOutputs;
  readonly #reading = new Map<string, number>();
  #patternReads = 0;

  constructor(host: OutputsHost, kept = new KeptOutputs()) {
    this.#host = host;
    this.#kept = kept;
  }

  [Symbol.dispose](): void {
    this.#kept[Symbol.dispose]();
  }

  /** A result for a model. `readsOn`: whether the model has `read_output`; without it, nothing is cut. */
  async show(result: ToolResult, { owner, modelChars, readsOn }: Bounds & { readsOn: boolean }): Promise<ModelAnswer> {
    const asked = withEdit(forModels(result));
    const whole = { result, shown: asked, kept: null };
    const { tool, callId, truncated } = result.metadata;
    // An output cut by the tool's own bound has the length that the tool declares.
    const own = this.#host.registry.get(tool, owner.tenant)?.outputChars ?? null;
    const most = Math.max(MODEL_CHARS_MIN, own ?? modelChars);
    const json = readsOn && truncated?.output === undefined ? longJson(asked, most) : null;
    if (json === null) return whole;
    const content = mayBeContent(json) ? contentOf(asked.output) : null;
    const cut = content === null ? null : cutContent(content, asked.output, most);
    if (content !== null && cut === null) return whole;
    const work = this.#workOf(owner.tenant);
    const output = await runPieces(readable(json), work);
    if (output.kind === "text" && output.text.length <= most) return whole;
    const kept = this.#kept.keep(callId, { ...output, tool }, owner);
    if (cut !== null) {
      const show = (part: ContentPart) => this.#showPart(part, kept, work);
      return { result, shown: shownResult(asked, await cut(show), output.text.length), kept };
    }
    const text = await this.#cut(output, { most, kept, pointer: "" }, work);
    return { result, shown: shownResult(asked, text, output.text.length), kept };
  }

  /** The text part of some content, cut. */
  async #showPart({ text, chars, pointer }: ContentPart, kept: string | null, work: PieceWork): Promise<string> {
    const part = { kind: "text", text: await runPieces(chunkedOf([text]), work) } as const;
    return this.#cut(part, { most: chars, kept, pointer }, work);
  }

  async #cut(
    output: ReadableText,
    { most, kept, pointer }: { readonly most: number; readonly kept: string | null; readonly pointer: string },
    work: PieceWork,
  ): Promise<string> {
    const shapeChars = Math.min(2_000, Math.floor(most * SHAPE_SHARE));
    const chars = Math.max(0, most - shapeChars - NOTICE_CHARS);
    const cut = await runPieces(cutText(output, chars, shapeChars), work);
    const { length } = output.text;
    const place = pointer === "" ? "an output" : `the part ${pointer} of an output`;
    const next = kept === null ? "" : lineOf({ call: kept, pointer, from: cut.next });
    const more =
      kept === null
        ? "It is too long to be kept, so the rest cannot be read: call the tool again for less."
        : `Go on with ${next}. "search":"a text" finds where it stands${output.kind === "json" ? ', "pointer":"/a/0" reads a part' : ""}.`;
    return (
      `${cut.head}\n\n[… ${cut.omitted} characters are left out here …]\n\n${cut.tail}\n\n` +
      `[These are the beginning and the end of ${place} of ${length} characters. ${cut.shape}. ${more}]`
    );
  }

  /**
   * A page of an output, for the arguments of `read_output`. Rejects with a `GloveboxError`: `invalid_arguments`,
   * `tool_not_found` if this tenant and key have no such output, `queue_full`, or that of a call with these options
   * which searches for a pattern.
   */
  async read(
    given: unknown,
    { owner, modelChars, options }: Bounds & { readonly options: ExecuteOptions },
    mayName: (tool: string) => boolean,
  ): Promise<string> {
    const query = readQuery(given, modelChars);
    const output = this.#kept.find(query.call, owner) ?? (await this.#stored(query.call, owner));
    if (output === undefined || !mayName(output.tool)) {
      const why = "it was shown whole, is older than 15 minutes, or made way for others";
      throw new GloveboxError("tool_not_found", `there is no output of a call "${query.call}" to read: ${why}`);
    }
    const { tenant } = owner;
    const reads = this.#reading.get(tenant) ?? 0;
    const all = [...this.#reading.values()].reduce((sum, count) => sum + count, 0);
    const isFull = query.pattern !== null && this.#patternReads >= PATTERN_READS;
    if (reads >= TENANT_READS || all >= READS || isFull) {
      throw new GloveboxError("queue_full", "too many outputs are being read at once: try again");
    }
    this.#reading.set(tenant, reads + 1);
    try {
      return await this.#readPage(output, query, { ...options, tenant });
    } finally {
      const left = (this.#reading.get(tenant) ?? 1) - 1;
      if (left === 0) this.#reading.delete(tenant);
      else this.#reading.set(tenant, left);
    }
  }

  async #readPage(output: ReadableText, query: OutputQuery, options: ReadOptions): Promise<string> {
    const work = this.#workOf(options.tenant);
    if (query.pattern === null) return runPieces(readPage(output, query), work);
    // Options of the answered call itself.
    const { tools: _tools, idempotencyKey: _key, record: _record, capabilities: _narrowed, ...given } = options;
    const run = (program: FunctionProgram) => this.#host.runProgram(program, given);
    this.#patternReads++;
    try {
      const part = await runPieces(partAt(output, query.pointer), work);
      return listOf(await findPattern(part, query.pattern, query.from, { ...work, run }), query);
    } finally {
      this.#patternReads--;
    }
  }

  /** The output of a stored call, if its detail was kept. */
  async #stored(id: string, { tenant, key }: OutputOwner): Promise<(ReadableText & { tool: string }) | undefined> {
    const { calls } = this.#host;
    if (calls.status() === undefined) return undefined;
    try {
      const call = await calls.get(id, { tenant });
      const detail = call?.detail ?? null;
      // An output that was left out is `null`, too.
      if (call === undefined || call.key !== key || detail === null || detail.output === null) return undefined;
      const json = [JSON.stringify(detail.output)];
      return { ...(await runPieces(readable(json), this.#workOf(tenant))), tool: call.tool };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      throw new GloveboxError("queue_full", `the store of calls cannot be read now: ${error.message}`);
    }
  }

  #workOf(tenant: string): PieceWork {
    const { work, accounts } = this.#host.broker;
    return { work, payer: accounts.of(tenant) };
  }
}

/** The JSON of an output that is longer than so many characters, in its parts; `null` for others. */
function longJson(result: ToolResult, most: number): readonly string[] | null {
  const unread = unreadJson(result);
  if (unread !== undefined) return unread.json.length > most ? partsOf(unread) : null;
  const { output } = result;
  if (typeof output === "string" ? output.length <= most : typeof output !== "object" || output === null) return null;
  const json = outputText(result);
  return json.length > most ? [json] : null;
}

/** The text of a string, or the JSON of another value. */
function* readable(json: readonly string[]): Generator<undefined, ReadableText, undefined> {
  const text = yield* chunkedOf(json);
  return json[0]?.startsWith('"') === true ? { kind: "text", text: yield* unquoted(text) } : { kind: "json", text };
}

/** The result with another output. Its metadata has the whole length. */
function shownResult(result: ToolResult, output: unknown, originalChars: number): ToolResult {
  const { modelOutput: _whole, ...others } = result.metadata;
  const metadata: ResultMetadata = { ...(others as ResultMetadata), originalChars };
  const { error } = result;
  return error === null ? { success: true, output, error, metadata } : { success: false, output, error, metadata };
}
