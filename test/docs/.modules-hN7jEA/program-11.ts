import { createEngine } from "glovebox";
import { callTools, openaiChat } from "glovebox/contracts";

await using engine = await createEngine({
  workers: 1,
  tools: [
    {
      name: "customers",
      description: "All customers.",
      source: "export default () => Array.from({ length: 9_000 }, (_, id) => ({ id, name: `Customer ${id}` }))",
    },
  ],
});
const tools = engine
  .forModels()
  .list()
  .map((tool) => openaiChat.writeTool(tool));
console.log(tools.map((tool) => tool.function.name)); // prints: [ 'customers', 'read_output' ]

async function call(name: string, args: object): Promise<string> {
  const called = { id: "call_1", type: "function", function: { name, arguments: JSON.stringify(args) } };
  const [message] = await callTools(engine, "openai-chat", { role: "assistant", tool_calls: [called] });
  return String(message?.content);
}

const cut = await call("customers", {});
console.log(cut.length <= 25_000, cut.slice(0, 28)); // prints: true [{"id":0,"name":"Customer 0"
console.log(/JSON: [^.]*/.exec(cut)?.[0]); // prints: JSON: list of 9000: { id: number, name: string }
console.log((await call("read_output", { call: "call_1", search: "Customer 7123" })).split("\n").at(-1)); // prints: [1 place, 1 shown.]
console.log((await call("read_output", { call: "call_1", pattern: "Customer 71[23]3" })).split("\n").at(-1)); // prints: [2 places, 2 shown.]
console.log((await call("read_output", { call: "call_1", pointer: "/7123/name" })).split("\n")[0]); // prints: Customer 7123
