import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { createEngine, ERRORS } from "glovebox";

await using engine = await createEngine({
  workers: 1,
  tools: [{ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" }],
});

const server = createServer(async (request, response) => {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const call = { name: "add", arguments: (await json(request)) as Record<string, unknown> };
  const { success, output, error } = await engine.execute(call, { tenant: "acme", signal: gone.signal });
  response.writeHead(success || error === null ? 200 : ERRORS[error.code].http);
  response.end(JSON.stringify(success ? { output } : { code: error?.code, message: error?.message }));
});
await once(server.listen(0, "127.0.0.1"), "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const answer = await fetch(url, { method: "POST", body: '{"a": 1, "b": 2}' });
console.log(answer.status, await answer.text()); // prints: 200 {"output":3}
server.close();
