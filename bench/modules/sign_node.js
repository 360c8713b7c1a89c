import { createHmac } from "node:crypto";

export const spec = { description: "Adds two numbers, and answers with a signature and Base64 by Node's names." };

export default ({ a, b }) => {
  const text = `the sum of ${a} and ${b}: ${a + b}`;
  const signature = createHmac("sha256", "secret").update(text).digest("hex");
  return { sum: a + b, signature, text: Buffer.from(text).toString("base64") };
};
