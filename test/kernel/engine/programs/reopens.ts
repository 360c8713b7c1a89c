/** Opens and closes engines on threads again and again: V8 must never collect a handle of a thread that has gone. */
import { createEngine } from "../../../../src/glovebox/index.ts";

const source = "export default ({ a, b }) => a + b;";
let sum = 0;
for (let round = 0; round < 6; round++) {
  await using engine = await createEngine({ executor: "threads", workers: 1 });
  await engine.register({ name: "add", description: "adds", isolation: "context", source });
  const calls = Array.from({ length: 100 }, () => engine.execute({ name: "add", arguments: { a: 1, b: 2 } }));
  for (const { output } of await Promise.all(calls)) sum += Number(output);
}
console.log(sum);
