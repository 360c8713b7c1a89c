import { createEngine } from "glovebox";
import { codeMode } from "glovebox/code-mode";

const add = { name: "math.add", description: "Adds.", source: "export default ({ a, b }) => a + b" };
await using engine = await createEngine({ workers: 1, tools: [add] });
const mode = codeMode(engine);
const { error } = await mode.run(`const sum = await tools.math.add({ a: 1, b: 2 });
return sum.total.value;`);
console.log(error?.message);
// prints: line 2, column 18: TypeError: Cannot read properties of undefined (reading 'value')
// prints: Calls of tools: math.add ok.
