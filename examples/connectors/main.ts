import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createEngine } from "glovebox";
import { createServer } from "glovebox/server";
import { KEY, openShop } from "./shop.ts";

const shop = await openShop();
const engine = await createEngine({
  connectors: {
    shop: { openapi: { document: "./shop.yaml", server: shop.origin }, headers: { "x-key": "{secret:SHOP}" } },
  },
  // The key is sent to the shop, in this header, and is nowhere else: no program, log or error has it.
  secrets: { SHOP: { value: KEY, bind: [{ origin: shop.origin, in: "header:x-key" }] } },
  policy: { rules: [{ tools: ["shop.*"], allow: { connector: ["shop"] } }] },
  codeMode: {},
  workers: 1,
});
// It closes the engine as well.
await using server = await createServer(engine, { port: 0 });

// Any client of the Model Context Protocol: at /mcp/code it sees two tools, however many the engine has.
const client = new Client({ name: "example", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL("/mcp/code", server.url)));
const { tools } = await client.listTools();
console.log(`tools of the client: ${tools.map(({ name }) => name).join(", ")}`);
console.log(
  `tools of the engine: ${engine
    .list()
    .map(({ name }) => name)
    .join(", ")}`,
);

// A program as a model writes it.
const code = `
  const open = await tools.shop.list_orders({ status: "open" });
  const large = open.filter(({ total }) => total > 150);
  await Promise.all(large.map(({ id }) => tools.shop.add_note({ id, body: { text: "Call the customer." } })));
  return { open: open.length, noted: large.map(({ id }) => id) };`;
const { structuredContent } = await client.callTool({ name: "run_code", arguments: { code } });
console.log((structuredContent as { result: unknown }).result);
console.log(shop.requests.toSorted().join("\n"));

await client.close();
shop.close();
