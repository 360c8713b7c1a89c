import { createEngine } from "glovebox";

await using engine = await createEngine({ tools: ["./tools"], workers: 1 });

const text = "the cat and the dog and the bird";
const counted = await engine.execute({ name: "word_count", arguments: { text, top: 2 } });
console.log(counted.output);

// An exception becomes the call's error, with its class and the tool's own lines.
const failed = await engine.execute({ name: "divide", arguments: { a: 1, b: 0 } });
console.log(failed.error?.code, failed.error?.type, failed.error?.message);
