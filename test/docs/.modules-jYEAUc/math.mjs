const numbers = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] };

export const tools = [
  { name: "add", description: "Adds.", parameters: numbers, execute: ({ a, b }) => a + b },
  { name: "multiply", description: "Multiplies.", parameters: numbers, execute: ({ a, b }) => a * b },
];
