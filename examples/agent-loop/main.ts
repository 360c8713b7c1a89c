import { createEngine } from "glovebox";
import { callTools, openaiChat } from "glovebox/contracts";
import OpenAI from "openai";
import { startModel } from "./model.ts";

type Answer = OpenAI.ChatCompletionToolMessageParam & { content: string };

const TURNS_MAX = 10;

await using engine = await createEngine({ tools: ["./tools"], workers: 1 });
const model = await startModel();
// For a real model, set OPENAI_API_KEY and leave the options out.
const client = new OpenAI({ baseURL: model.url, apiKey: "scripted" });

const tools = engine.list().map((tool) => openaiChat.writeTool(tool)) as OpenAI.ChatCompletionFunctionTool[];
const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: "user", content: "How high is the Zugspitze, in feet?" },
];

for (let turn = 0; turn < TURNS_MAX; turn++) {
  const { choices } = await client.chat.completions.create({ model: "scripted", messages, tools });
  const message = choices[0]?.message;
  if (message === undefined) break;
  messages.push(message);
  if (message.tool_calls === undefined) {
    console.log(`answer: ${message.content}`);
    break;
  }
  // Every call is answered. What fails is answered with its error, so that the model can correct itself.
  const answers = (await callTools(engine, "openai-chat", message)) as Answer[];
  for (const [at, answer] of answers.entries()) {
    const asked = message.tool_calls[at];
    if (asked?.type === "function") console.log(`${asked.function.name} ${asked.function.arguments}`);
    console.log(`  ${answer.content.split("\n")[0]}`);
  }
  messages.push(...answers);
}
model.stop();
