import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { generateText, isStepCount, type ModelMessage } from "ai";
import { approvalsForAISDK, toolsForAISDK } from "glovebox/adapters";
import { openEngine } from "./engine.ts";
import { model } from "./model.ts";

const [, , folder = "."] = process.argv;
const file = `${folder}/conversation.json`;
await using engine = await openEngine(folder);

const messages: ModelMessage[] = existsSync(file)
  ? (JSON.parse(readFileSync(file, "utf8")) as ModelMessage[])
  : [{ role: "user", content: "Order A-7 never came." }];
// The store says what was decided, and not the conversation.
const answers = (await approvalsForAISDK(engine, messages)) ?? [];
if (answers.length > 0) messages.push({ role: "tool", content: answers });

const tools = toolsForAISDK(engine);
const { text, content, response } = await generateText({ model, messages, tools, stopWhen: isStepCount(5) });
writeFileSync(file, JSON.stringify([...messages, ...response.messages]));

for (const part of content) {
  if (part.type !== "tool-approval-request") continue;
  console.log("agent: may I?", part.toolCall.toolName, part.toolCall.input);
  process.kill(process.pid, "SIGKILL");
}
console.log("agent:", text);
