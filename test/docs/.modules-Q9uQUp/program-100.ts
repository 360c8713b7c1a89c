import { createEngine, unwrap } from "glovebox";
import { codeMode } from "glovebox/code-mode";

await using engine = await createEngine({ tools: ["./greet.ts"] });
const program = `
  const greetings = await Promise.all(["Ada", "Bob"].map((name) => tools.greet({ name })));
  return greetings.map(({ text }) => text).join(" ");`;
const { result, calls } = unwrap(await codeMode(engine).run(program));
console.log(result, calls.length); // prints: Hello, Ada! Hello, Bob! 2
