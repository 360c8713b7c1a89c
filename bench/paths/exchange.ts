import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

const HEAD_END = "\r\n\r\n";

/** A kept connection on which one request is made after the other: as little of a client as there can be. */
export class Connection implements Disposable {
  readonly #socket: Socket;
  #chunks: Buffer[] = [];
  #missing = 0;
  #resolve: (text: string) => void = () => undefined;

  constructor(port: number) {
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true });
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Sends JSON, and resolves with the JSON of the answer. */
  async post(path: string, body: string): Promise<string> {
    const answer = new Promise<string>((resolve) => (this.#resolve = resolve));
    this.#socket.write(requestTo(path, body));
    const text = await answer;
    if (!text.startsWith("HTTP/1.1 200 ")) throw new Error(`${path} answered ${text}`);
    return text.slice(text.indexOf(HEAD_END) + HEAD_END.length);
  }

  #read(chunk: Buffer): void {
    if (this.#chunks.length === 0) this.#missing = lengthOf(chunk);
    this.#chunks.push(chunk);
    this.#missing -= chunk.length;
    if (this.#missing > 0) return;
    const text = Buffer.concat(this.#chunks).toString();
    this.#chunks = [];
    this.#resolve(text);
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

function requestTo(path: string, body: string): string {
  const headers = `host: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  return `POST ${path} HTTP/1.1\r\n${headers}${HEAD_END}${body}`;
}

/** Length of an answer whose first bytes have its whole head. */
function lengthOf(chunk: Buffer): number {
  const end = chunk.indexOf(HEAD_END) + HEAD_END.length;
  return end + Number(/^content-length: (\d+)\r$/im.exec(chunk.toString("latin1", 0, end))?.[1]);
}

/** A socket that answers whatever it reads with these bytes, and does nothing else: no server could cost less. */
export async function answerWith(json: string): Promise<AsyncDisposable & { readonly port: number }> {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}`;
  const answer = `${head}${HEAD_END}${json}`;
  const server = createServer({ noDelay: true }, (socket) => socket.on("data", () => void socket.write(answer)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.close();
    await once(server, "close");
  };
  return { port, [Symbol.asyncDispose]: close };
}
