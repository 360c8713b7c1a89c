import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { type Clean, McpError, shownWords } from "./failure.ts";
import { Inflow } from "./inflow.ts";
import { type Line, Lines, edgesOf, numberIn, partsOf } from "./lines.ts";
import type { McpLimits } from "./limits.ts";
import type { ServerProcess } from "./server-process.ts";

/** Kept length of its stderr: more than the displayed length plus the longest form of a secret. */
const SAID_MAX = 32_768;
const WORDS_MAX = 500;
/** JSON-RPC's code of errors that a server defines. */
const TOO_LONG = -32_000;

/** Messages as lines over the pipes of a process. Other lines that it prints are ignored, as many servers print some. */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Both tell the client that silence means an old server. */
  readonly pid = null;
  readonly stderr = null;
  readonly #process: ServerProcess;
  readonly #limits: McpLimits;
  readonly #lines: Lines;
  readonly #inflow: Inflow;
  readonly #clean: Clean;
  readonly #parse: (text: string) => JSONRPCMessage;
  #said = "";
  #excess: McpError | null = null;
  #isClosed = false;

  constructor(process: ServerProcess, limits: McpLimits, clean: Clean, parse: (text: string) => JSONRPCMessage) {
    this.#clean = clean;
    this.#process = process;
    this.#limits = limits;
    this.#lines = new Lines(limits);
    this.#inflow = new Inflow(limits);
    this.#parse = parse;
  }

  /** The reason for the connection's end. */
  async failure(): Promise<McpError> {
    const why = this.#excess?.message ?? (await this.#process.ended);
    return new McpError(why, { detail: this.said() });
  }

  /** The end of its stderr, for the operator; `null` if it is empty. */
  said(): string | null {
    const said = shownWords(this.#clean(this.#said).slice(-WORDS_MAX), WORDS_MAX);
    return said === "" ? null : `its stderr ends with: ${said}`;
  }

  start(): Promise<void> {
    const { stdout, stderr, ended } = this.#process;
    stdout.on("data", (chunk: Buffer) => this.#receive(chunk));
    stderr.on("data", (chunk: Buffer) => {
      this.#said = (this.#said + chunk.toString("utf8")).slice(-SAID_MAX);
      this.#check(this.#inflow.take(0, chunk.length));
    });
    void ended.then(() => this.#finish());
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#process;
    if (this.#isClosed || !stdin.writable)
      return Promise.reject(new McpError("its process has ended", { isSent: false }));
    if (stdin.writableLength > this.#limits.messageBytes) {
      return Promise.reject(new McpError("it does not read what it is sent", { isSent: false }));
    }
    stdin.write(`${JSON.stringify(message)}\n`);
    return Promise.resolve();
  }

  async close(): Promise<void> {
    await this.#process.close();
    this.#finish();
  }

  #finish(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
  }

  #receive(chunk: Buffer): void {
    if (this.#excess !== null) return;
    try {
      this.#check(this.#inflow.take(0, chunk.length));
      for (const line of this.#lines.push(chunk)) {
        this.#check(this.#inflow.take(1, 0));
        if (this.#excess !== null) return;
        this.#read(line);
      }
    } catch (error) {
      this.#check(error instanceof McpError ? error : new McpError("its output could not be read"));
    }
  }

  #read(line: Line): void {
    const { messageBytes, messageParts } = this.#limits;
    if (line.kind === "long") {
      return this.#refuse(line.edges, `an answer of ${line.length} bytes, the limit is ${messageBytes} bytes`);
    }
    if (partsOf(line.bytes) > messageParts) {
      return this.#refuse(edgesOf(line.bytes), `an answer of more than ${messageParts} values`);
    }
    try {
      this.onmessage?.(this.#parse(line.bytes.toString("utf8")));
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error("a line is no message"));
    }
  }

  /** Answers a request in place of a message that is not read. */
  #refuse(edges: string, message: string): void {
    const id = numberIn(edges);
    if (id !== null) this.onmessage?.({ jsonrpc: "2.0", id, error: { code: TOO_LONG, message } });
  }

  #check(excess: McpError | null): void {
    if (excess === null || this.#excess !== null) return;
    this.#excess = excess;
    this.#finish();
    void this.#process.close();
  }
}
