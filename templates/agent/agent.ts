import { generateText, isStepCount, type LanguageModel } from "ai";
import { createEngine } from "glovebox";
import { toolsForAISDK } from "glovebox/adapters";

/** Answers a prompt with a model that may call the tools, in at most ten steps. */
export async function answer(model: LanguageModel, prompt: string): Promise<string> {
  await using engine = await createEngine({ tools: ["./tools"], workers: 1 });
  const { text } = await generateText({ model, tools: toolsForAISDK(engine), prompt, stopWhen: isStepCount(10) });
  return text;
}
