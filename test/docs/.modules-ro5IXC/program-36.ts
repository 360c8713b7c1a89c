import { createEngine } from "glovebox";
import { createMcpServer } from "glovebox/mcp";

await using engine = await createEngine({
  workers: 1,
  tools: [{ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" }],
});
const server = createMcpServer(engine, { name: "adder", version: "1.0.0", tenant: "acme" });
console.log(typeof server.connect); // prints: function
await server.close();
