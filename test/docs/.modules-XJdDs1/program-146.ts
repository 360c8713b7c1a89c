import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createEngine } from "glovebox";
import { toNodeHandler } from "glovebox/handlers";

await using engine = await createEngine({
  workers: 1,
  tools: [{ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" }],
});
const glovebox = toNodeHandler(engine, { basePath: "/tools", allowAnybody: true });
const server = createServer((request, response) => glovebox(request, response, () => response.end("mine")));
await once(server.listen(0, "127.0.0.1"), "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
console.log((await fetch(`${url}/tools/readyz`)).status, await (await fetch(url)).text()); // prints: 200 mine
await glovebox.drain({ drainMs: 5_000 });
server.close();
server.closeAllConnections();
