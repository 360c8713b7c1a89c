import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { Connections } from "../../../../../src/kernel/broker/capabilities/fetch/connections.ts";

const SERVERS = 1_300;
const AT_ONCE = 100;

// Each address of 127.0.0.0/8 is this machine's on Linux alone.
test.skipIf(process.platform !== "linux")("connections to more than 1,024 servers are not all kept alive", async () => {
  let open = 0;
  let closing = 0;
  await using server = createServer(({ headers }, response) => {
    if (headers.connection === "close") closing++;
    response.end("x");
  });
  server.keepAliveTimeout = 60_000;
  server.on("connection", (socket) => {
    open++;
    socket.once("close", () => open--);
  });
  await once(server.listen(0, "0.0.0.0"), "listening");
  const { port } = server.address() as AddressInfo;
  const connections = new Connections();
  const agent = await connections.agent(true);
  for (let first = 0; first < SERVERS; first += AT_ONCE) {
    const asked = Array.from({ length: AT_ONCE }, async (_, at) => {
      const origin = `http://127.1.${Math.floor((first + at) / 250)}.${1 + ((first + at) % 250)}:${port}`;
      const { statusCode, body } = await agent.request({ origin, path: "/", method: "GET" });
      expect([statusCode, await body.text()]).toEqual([200, "x"]);
    });
    await Promise.all(asked);
  }
  expect(closing).toBeGreaterThan(0);
  await connections.close();
  await expect.poll(() => open).toBe(0);
});
