import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createEngine } from "glovebox";

const server = createServer(({ url, headers }, response) => {
  response.end(JSON.stringify({ path: url, paid: headers["x-key"] === "correct-horse" }));
});
await once(server.listen(0, "127.0.0.1"), "listening");
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

await using engine = await createEngine({
  workers: 1,
  secrets: { SHOP_KEY: { value: "correct-horse", bind: [{ origin, in: "header:x-key" }] } },
  policy: {
    rules: [{ tools: ["price"], allow: { fetch: { origins: [], privateOrigins: [origin] }, secrets: ["SHOP_KEY"] } }],
  },
});
await engine.register({
  name: "price",
  description: "Asks a shop for a price.",
  runtime: "python",
  capabilities: { fetch: { origins: [origin] }, secrets: ["SHOP_KEY"] },
  source: `
import requests
from glovebox import host

def execute(input):
    try:
        answer = requests.get(input["shop"], params={"of": input["what"]}, headers={"x-key": host.secrets.SHOP_KEY}, timeout=10)
        answer.raise_for_status()
        return answer.json()
    except requests.ConnectionError as error:
        return str(error).partition(";")[0]
`,
});

const price = async (shop: string) =>
  (await engine.execute({ name: "price", arguments: { shop, what: "a pear" } })).output;
console.log(await price(`${origin}/price`)); // prints: { path: '/price?of=a+pear', paid: true }
console.log(await price("https://evil.example/")); // prints: GET https://evil.example/ was not granted
server.close();
