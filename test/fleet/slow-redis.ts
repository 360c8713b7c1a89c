import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** How far a connection may be ahead of its rate. */
const AHEAD_MS = 20;

export interface SlowRedis extends AsyncDisposable {
  readonly url: string;
}

/** A way to a Redis on this machine each of whose connections carries so many bytes a second, in each direction. */
export async function slowWayTo(port: number, bytesPerS: number): Promise<SlowRedis> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const redis = connect(port, "127.0.0.1");
    for (const socket of [client, redis]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        redis.destroy();
      });
    }
    carry(client, redis, bytesPerS);
    carry(redis, client, bytesPerS);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: ours } = server.address() as AddressInfo;
  return {
    url: `redis://127.0.0.1:${ours}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function carry(from: Socket, to: Socket, bytesPerS: number): void {
  let dueMs = 0;
  from.on("data", (bytes) => {
    to.write(bytes);
    const nowMs = performance.now();
    dueMs = Math.max(dueMs, nowMs - AHEAD_MS) + (bytes.length / bytesPerS) * 1_000;
    if (dueMs <= nowMs) return;
    from.pause();
    setTimeout(() => from.resume(), dueMs - nowMs);
  });
}
