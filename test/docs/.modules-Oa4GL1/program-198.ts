import { toolDefinition } from "@tanstack/ai";
import { createCodeMode } from "@tanstack/ai-code-mode";
import { createEngine } from "glovebox";
import { createIsolateDriver } from "glovebox/adapters";
import { z } from "zod";

await using engine = await createEngine({ workers: 1 });
const stock = toolDefinition({
  name: "stock",
  description: "The number of pieces of an item.",
  inputSchema: z.object({ item: z.string() }),
}).server(async ({ item }) => item.length);

const driver = createIsolateDriver(engine, { tenant: "acme", limits: { capabilityCalls: 500 } });
const { tool, systemPrompt } = createCodeMode({ driver, tools: [stock], timeout: 10_000, memoryLimit: 64 });
// In an agent: chat({ tools: [tool], systemPrompts: [systemPrompt], … }). What the model then does:
const typescriptCode = `
  const counts = await Promise.all(["pen", "paper"].map((item: string) => external_stock({ item })));
  console.log("counted", counts.length);
  return counts;
`;
console.log(await tool.execute?.({ typescriptCode })); // prints: { success: true, result: [ 3, 5 ], logs: [ 'counted 2' ] }
console.log(systemPrompt.includes("external_stock")); // prints: true
