import { createEngine } from "glovebox";
import { toolsForOpenAIAgents } from "glovebox/adapters";

await using engine = await createEngine({
  workers: 1,
  tools: [{ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" }],
});
const [add] = toolsForOpenAIAgents(engine);
console.log(await add?.invoke(null, '{"a":1,"b":2}')); // prints: 3
