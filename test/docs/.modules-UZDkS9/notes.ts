export const spec = {
  name: "notes",
  description: "Keeps a note, and tells how many there are.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  capabilities: { kv: true },
};

export default async ({ text }: { text: string }, { host }: any) => {
  const count = ((await host.kv.get("count")) ?? 0) + 1;
  await host.kv.set(`note:${count}`, text);
  await host.kv.set("count", count);
  return { count };
};
