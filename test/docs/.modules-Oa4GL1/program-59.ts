import { createEngine } from "glovebox";
import { toolsForAISDK } from "glovebox/adapters";

await using engine = await createEngine({
  workers: 1,
  tools: [{ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" }],
});
const tools = toolsForAISDK(engine, { tenant: "acme" });
console.log(Object.keys(tools)); // prints: [ 'add', 'read_output' ]
