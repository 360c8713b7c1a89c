import { defineTool } from "glovebox/tool";
import { z } from "zod";

export default defineTool({
  name: "ship",
  description: "Ships an item to a city.",
  inputSchema: z.object({ item: z.string().min(1), city: z.enum(["Bonn", "Oslo"]).default("Bonn") }),
  outputSchema: z.object({ days: z.number() }),
  run: ({ item, city }) => ({ days: city === "Bonn" ? item.length : 2 * item.length }),
});
