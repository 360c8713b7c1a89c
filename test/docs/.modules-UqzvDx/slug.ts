export const spec = {
  name: "slug",
  description: "Turns a title into a part of a URL.",
  inputSchema: {
    type: "object",
    properties: { title: { type: "string", maxLength: 200 }, separator: { enum: ["-", "_"], default: "-" } },
    required: ["title"],
  },
  outputSchema: { type: "object", properties: { slug: { type: "string" } }, required: ["slug"] },
};

export default ({ title, separator }: { title: string; separator: string }) => {
  console.log("title has", title.length, "characters");
  if (title.trim() === "") throw new RangeError("the title is blank");
  return { slug: title.trim().toLowerCase().replace(/\W+/g, separator) };
};
