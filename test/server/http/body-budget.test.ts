import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import fastify from "fastify";
import { expect, test } from "vitest";
import { limitBodies } from "../../../src/server/http/body-budget.ts";
import { collectGarbage } from "../../../src/kernel/executor/worker/idle-work.ts";

const MIB = 2 ** 20;
const LENGTH = MIB / 2;
const BATCH = 2 ** 14;

/** Without what is garbage already: when that is collected depends on the version of Node. */
function heldBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

test("a body that comes byte by byte takes a few mebibytes of memory, and not hundreds", async () => {
  const app = fastify({ bodyLimit: 2 * LENGTH });
  app.decorateRequest("caller", null);
  limitBodies(app, 64 * MIB, 2 * LENGTH);
  let heldMb = 0;
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, body, done) => {
    heldMb = (heldBytes() - before) / MIB;
    done(null, { length: body.length });
  });
  app.post("/", ({ body }) => body);
  await app.listen({ port: 0, host: "127.0.0.1" });
  const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  const answer = text(socket);
  const head = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n";
  socket.write(`${head}content-type: application/json\r\n\r\n`);
  const before = heldBytes();
  for (let sent = 0; sent < LENGTH; sent += BATCH) {
    await new Promise((resolve) => socket.write("1\r\nx\r\n".repeat(BATCH), resolve));
  }
  socket.write("0\r\n\r\n");
  expect(await answer).toContain(`{"length":${LENGTH}}`);
  expect(heldMb).toBeLessThan(48);
  await app.close();
});
