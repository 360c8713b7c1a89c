export const spec = {
  name: "square",
  description: "Squares a number, slowly.",
  inputSchema: { type: "object", properties: { value: { type: "number" } }, required: ["value"] },
};

export default async ({ value }: { value: number }) => {
  await new Promise((resolve) => setTimeout(resolve, 100));
  return value * value;
};
