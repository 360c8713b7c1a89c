import { createEngine } from "glovebox";
import { codeMode } from "glovebox/code-mode";

const add = { name: "math.add", description: "Adds.", source: "export default ({ a, b }) => a + b" };
await using engine = await createEngine({ workers: 1, tools: [add] });
const { metadata } = await codeMode(engine).run("const a = 1;\nreturn await tools.math.add({ a, b: 2 });");
console.log(metadata.calls?.map(({ tool, code, line }) => `${line}: ${tool} ${code}`));
// prints: [ '2: math.add ok' ]
