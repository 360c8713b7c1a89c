export const spec = { description: "Adds two numbers." };

export default ({ a, b }) => ({ sum: a + b });
