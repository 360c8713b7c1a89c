import { defineTool } from "glovebox/tool";

const HEIGHTS: Record<string, number> = { Everest: 8849, Zugspitze: 2962 };

export default defineTool({
  name: "mountain_height",
  description: "Looks up the height of a mountain in metres.",
  inputSchema: { type: "object", properties: { mountain: { type: "string" } }, required: ["mountain"] },
  run: ({ mountain }) => ({ height: HEIGHTS[mountain] ?? null }),
});
