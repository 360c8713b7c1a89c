export const spec = {
  name: "mountain_height",
  description: "Tells the height of a mountain in metres.",
  inputSchema: { type: "object", properties: { mountain: { type: "string" } }, required: ["mountain"] },
};
const heights: Record<string, number> = { Zugspitze: 2962, Eiger: 3967 };
export default ({ mountain }: { mountain: string }) => {
  const metres = heights[mountain];
  if (metres === undefined) throw new Error(`unknown mountain "${mountain}"`);
  return { metres };
};
