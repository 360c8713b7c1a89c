import { createBrowserCodeTool } from "@cloudflare/codemode/browser";
import { createEngine } from "glovebox";
import { createCodemodeExecutor } from "glovebox/adapters";

await using engine = await createEngine({ workers: 1 });
const executor = createCodemodeExecutor(engine, { tenant: "acme", limits: { wallMs: 10_000 } });
const inputSchema = { type: "object" as const, properties: { item: { type: "string" as const } } };
const stock = { description: "Counts.", inputSchema, execute: async (args: unknown) => JSON.stringify(args).length };
const tool = createBrowserCodeTool({ executor, tools: { "count-stock": stock } });
console.log(await tool.execute({ code: 'async () => codemode.count_stock({ item: "pen" })' })); // prints: { result: 14 }
