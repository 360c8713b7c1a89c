import { createEngine } from "glovebox";

await using engine = await createEngine({
  workers: 1,
  tools: [
    { name: "add", description: "Adds.", tags: ["math"], source: "export default ({ a, b }) => a + b" },
    { name: "wipe", description: "Removes everything.", source: "export default () => 'gone'" },
  ],
});
const offered = engine.list().filter(({ tags }) => tags.includes("math"));
const tools = offered.map(({ name }) => name);
console.log((await engine.execute({ name: "wipe", arguments: {} }, { tools })).error?.code); // prints: tool_not_found
