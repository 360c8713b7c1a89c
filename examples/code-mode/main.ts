import { createEngine } from "glovebox";
import { codeMode } from "glovebox/code-mode";
import { callTools, openaiChat, type ToolRunner } from "glovebox/contracts";
import OpenAI from "openai";
import { startModel } from "./model.ts";

type Answer = OpenAI.ChatCompletionToolMessageParam & { content: string };

const QUESTION = "Which store sold most in November?";
const TURNS_MAX = 30;

await using engine = await createEngine({ tools: ["./tools"], workers: 1 });
const scripted = await startModel();
// A real model is asked where OPENAI_API_KEY and MODEL are set.
const { OPENAI_API_KEY, MODEL = "scripted" } = process.env;
const client = OPENAI_API_KEY === undefined ? new OpenAI({ baseURL: scripted.url, apiKey: "scripted" }) : new OpenAI();

/** The loop of an agent: a model calls the runner's tools until it has an answer. */
async function ask(label: string, runner: ToolRunner): Promise<void> {
  const tools = runner.list().map((tool) => openaiChat.writeTool(tool)) as OpenAI.ChatCompletionFunctionTool[];
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: QUESTION }];
  const startMs = performance.now();
  let characters = 0;
  for (let turn = 1; turn <= TURNS_MAX; turn++) {
    // A model reads all of it again at every turn.
    characters += JSON.stringify({ messages, tools }).length;
    const { choices } = await client.chat.completions.create({ model: MODEL, messages, tools });
    const message = choices[0]?.message;
    if (message === undefined) break;
    messages.push(message);
    if (message.tool_calls === undefined) {
      const ms = Math.round(performance.now() - startMs);
      console.log(`${label}: ${turn} turns, ${Math.round(characters / 4)} tokens read, ${ms} ms`);
      console.log(`  ${message.content}`);
      return;
    }
    messages.push(...((await callTools(runner, "openai-chat", message)) as Answer[]));
  }
  console.log(`${label}: no answer after ${TURNS_MAX} turns`);
}

await ask("single calls", engine);
await ask("code mode", codeMode(engine));
scripted.stop();
