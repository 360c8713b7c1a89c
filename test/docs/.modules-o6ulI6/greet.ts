export const spec = {
  name: "greet",
  description: "Greets somebody.",
  inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
};
export default ({ name }: { name: string }) => ({ text: `Hello, ${name}!`, luck: Math.random() });
