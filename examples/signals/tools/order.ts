import { defineTool } from "glovebox/tool";

export default defineTool({
  name: "order",
  description: "Sends an order once it is paid.",
  inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
  capabilities: { pause: true },
  async run({ item }, { host }) {
    const payment = await host.pause.signal({ name: "payment" });
    return { item, payment };
  },
});
