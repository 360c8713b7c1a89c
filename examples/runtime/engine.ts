/** Runs inside isolates: makes of the text of a list what a module would export. */
export function createEngine() {
  return {
    connect: () => undefined,
    load: (code: string) => () => {
      const [description = "", ...lines] = code.trim().split("\n");
      const prices = new Map(lines.map((line) => line.split(" ")).map(([name = "", price]) => [name, Number(price)]));
      const inputSchema = {
        type: "object",
        properties: { items: { type: "array", items: { enum: [...prices.keys()] } } },
      };
      return {
        spec: { description, inputSchema },
        default: ({ items = [] }: { readonly items?: readonly string[] }) =>
          items.reduce((sum, item) => sum + (prices.get(item) ?? 0), 0),
      };
    },
  };
}
