import { createEngine } from "glovebox";
import { codeMode } from "glovebox/code-mode";
import { callTools, openaiChat, type ToolRunner } from "glovebox/contracts";
import OpenAI from "openai";
import { startModel } from "./model.ts";

await using engine = await createEngine({ tools: ["./tools"], workers: 1 });
const scripted = await startModel();
// A real model is asked where OPENAI_API_KEY and MODEL are set.
const { OPENAI_API_KEY, MODEL = "scripted" } = process.env;
const client = OPENAI_API_KEY ? new OpenAI() : new OpenAI({ baseURL: scripted.url, apiKey: "scripted" });

/** The loop of an agent, and what it takes. A model reads all of the conversation again at every turn. */
async function ask(label: string, runner: ToolRunner): Promise<void> {
  const tools = runner.list().map((tool) => openaiChat.writeTool(tool)) as OpenAI.ChatCompletionFunctionTool[];
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Which store sold most?" }];
  const startMs = performance.now();
  for (let turn = 1, characters = 0; turn <= 30; turn++) {
    characters += JSON.stringify({ messages, tools }).length;
    const { choices } = await client.chat.completions.create({ model: MODEL, messages, tools });
    const message = choices[0]?.message;
    if (message === undefined) return;
    messages.push(message);
    if (message.tool_calls !== undefined) {
      messages.push(...((await callTools(runner, "openai-chat", message)) as OpenAI.ChatCompletionToolMessageParam[]));
      continue;
    }
    console.log(`${label}: ${turn} turns, ${Math.round(characters / 4_000)} thousand tokens read. ${message.content}`);
    return console.error(`${label}: ${Math.round(performance.now() - startMs)} ms`);
  }
}

await ask("single calls", engine);
await ask("code mode", codeMode(engine));
scripted.stop();
