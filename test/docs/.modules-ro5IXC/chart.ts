import { defineTool } from "glovebox/tool";

export default defineTool({
  name: "chart",
  description: "Draws a chart of one pixel.",
  run: () => ({
    content: [
      { type: "text", text: "Sales in May:" },
      {
        type: "image",
        mimeType: "image/gif",
        data: "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
      },
    ],
  }),
});
