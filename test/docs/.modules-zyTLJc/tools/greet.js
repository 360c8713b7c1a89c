export const spec = {
  name: "greet",
  description: "Greets somebody.",
  inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
};
export default ({ name }) => {
  console.log(`greeting ${name}`);
  return { text: `Hello, ${name}!` };
};
