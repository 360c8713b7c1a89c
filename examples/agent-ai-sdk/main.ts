import { generateText, isStepCount } from "ai";
import { createEngine } from "glovebox";
import { toolsForAISDK } from "glovebox/adapters";
import { model } from "./model.ts";
import type convert from "./tools/convert.ts";
import type lookup from "./tools/lookup.ts";

await using engine = await createEngine<[typeof convert, typeof lookup]>({ tools: ["./tools"], workers: 1 });

const { steps, text } = await generateText({
  model,
  tools: toolsForAISDK(engine, { tenant: "acme" }),
  prompt: "How high is the Zugspitze, in feet?",
  stopWhen: isStepCount(10),
});

for (const { content } of steps) {
  for (const part of content) {
    if (part.type === "tool-call") console.log(part.toolName, part.input);
    if (part.type === "tool-result") console.log(" ", part.output);
    // The model reads the error in its next step, and corrects itself.
    if (part.type === "tool-error") console.log(" ", String(part.error));
  }
}
console.log("answer:", text);
