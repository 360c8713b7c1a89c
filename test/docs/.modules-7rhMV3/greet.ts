export const spec = { name: "greet", description: "Greets.", tags: ["text"], capabilities: { env: ["REGION"] } };
export default async (_input: unknown, { host }: any) => `hello from ${await host.env.get("REGION")}`;
