import { createEngine } from "glovebox";
import { referenceTool } from "glovebox/strands";

await using engine = await createEngine({ workers: 1, tools: [{ path: referenceTool("calculator") }] });
const result = await engine.execute({ name: "calculator", arguments: { operation: "multiply", a: 6, b: 7 } });
console.log(result.success); // prints: true
