import { test } from "vitest";
import { expectArea } from "./area.ts";
import { DECODED, ENCODED } from "./data/base64.ts";

test("Base64 is decoded and encoded as the HTML Standard says", async () => {
  const decoded = DECODED.map(([text, bytes]) => ({
    name: `atob ${JSON.stringify(text)}`,
    input: ["atob", text],
    expected: bytes ?? "throws InvalidCharacterError",
  }));
  const encoded = ENCODED.map(([text, base64]) => ({
    name: `btoa ${JSON.stringify(text)}`,
    input: ["btoa", text],
    expected: base64 ?? "throws InvalidCharacterError",
  }));
  const answer = `([name, text]) => name === "atob" ? Array.from(atob(text), (char) => char.charCodeAt(0)) : btoa(text)`;
  await expectArea("base64", answer, [...decoded, ...encoded]);
});
