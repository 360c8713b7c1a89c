import { defineTool } from "glovebox/tool";
import { z } from "zod";

export default defineTool({
  name: "book",
  description: "Books a table for some people.",
  inputSchema: z.object({ people: z.number().refine((people) => people !== 13, "thirteen is unlucky") }),
  run: ({ people }) => `a table for ${people}`,
});
