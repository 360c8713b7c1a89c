export const spec = {
  description: "Adds two numbers, and answers with a checksum and Base64 by what every JavaScript has.",
};

const checksum = (text) => {
  let hash = 0x811c9dc5;
  let digits = "";
  while (digits.length < 64) {
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    digits += (hash >>> 0).toString(16).padStart(8, "0");
  }
  return digits;
};

export default ({ a, b }) => {
  const text = `the sum of ${a} and ${b}: ${a + b}`;
  return { sum: a + b, signature: checksum(text), text: btoa(text) };
};
