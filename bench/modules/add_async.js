export const spec = { description: "Adds two numbers." };

export default async ({ a, b }) => ({ sum: a + b });
