import { createEngine } from "glovebox";
import { callTools, openaiChat } from "glovebox/contracts";

await using engine = await createEngine({
  workers: 1,
  tools: [
    {
      name: "echo",
      description: "Returns its message.",
      inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
      source: "export default ({ message }) => message",
    },
  ],
});

console.log(engine.list().map((tool) => openaiChat.writeTool(tool).function.name)); // prints: [ 'echo' ]

const asked = { id: "call_1", type: "function", function: { name: "echo", arguments: '{"message":"Hi"}' } };
console.log(await callTools(engine, "openai-chat", { role: "assistant", tool_calls: [asked] }));
// prints: [ { role: 'tool', tool_call_id: 'call_1', content: 'Hi' } ]
