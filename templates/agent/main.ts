import { answer } from "./agent.ts";

const [model, ...words] = process.argv.slice(2);
if (model === undefined || words.length === 0) throw new Error("usage: npm start -- MODEL QUESTION");
// A name such as "openai/NAME" is a model of the AI gateway. Pass a provider's own model to `answer` instead.
console.log(await answer(model, words.join(" ")));
