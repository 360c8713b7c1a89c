import { StringDecoder } from "node:string_decoder";
import { parseJSONRPCMessage } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { parseForWriting } from "../../kernel/base/exact-json.ts";
import { LineReader } from "../../kernel/base/protocol/line-reader.ts";
import { type ChangingToolRunner, createMcpServer, type McpServerOptions } from "./server.ts";

/** A client connected through this process's stdin and stdout. */
export interface McpConnection {
  /** Resolves when the client disconnects, sends a message that is too long, or the connection is closed. */
  readonly closed: Promise<void>;
  /** Closes the connection and cancels its running calls. */
  close(): Promise<void>;
}

/** Serves the client that started this process. `onProblem` receives invalid messages. */
export function serveMcp(
  runner: ChangingToolRunner,
  options: McpServerOptions,
  onProblem: (problem: Error) => void,
): McpConnection {
  const transport = new Pipe();
  const served = serveStdio(() => createMcpServer(runner, options), { transport, onerror: onProblem });
  return { closed: transport.closed, close: () => served.close() };
}

/** Longest message, in UTF-16 units: the connection ends with a longer one. */
const MESSAGE_MAX = 10 * 1024 * 1024;

/** Transport over stdin and stdout that keeps the digits of long integers, with a promise of its end. */
class Pipe extends StdioServerTransport {
  readonly #closed = Promise.withResolvers<void>();
  readonly closed = this.#closed.promise;
  readonly #decoder = new StringDecoder("utf8");
  readonly #lines = new LineReader(MESSAGE_MAX);

  /** In place of the library's own, which reads messages by `JSON.parse`. */
  override readonly _ondata = (chunk: Buffer): void => {
    try {
      this.#lines.push(this.#decoder.write(chunk), (line) => this.#receive(line));
    } catch (error) {
      this.onerror?.(errorOf(error));
      void this.close();
    }
  };

  #receive(line: string): void {
    try {
      this.onmessage?.(parseJSONRPCMessage(parseForWriting(line)));
    } catch (error) {
      // A line that is no JSON is ignored, as the library does.
      if (!(error instanceof SyntaxError)) this.onerror?.(errorOf(error));
    }
  }

  override async close(): Promise<void> {
    await super.close();
    this.#closed.resolve();
  }
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error("a message could not be read");
}
