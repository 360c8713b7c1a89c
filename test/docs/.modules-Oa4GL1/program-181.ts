import { createEngine } from "glovebox";
import { toolsForLangChain } from "glovebox/adapters";

await using engine = await createEngine({
  workers: 1,
  tools: [{ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" }],
});
const [add] = await toolsForLangChain(engine, { names: ["add"] });
console.log(await add?.invoke({ a: 1, b: 2 })); // prints: 3
