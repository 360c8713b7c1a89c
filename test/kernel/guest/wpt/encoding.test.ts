import { test } from "vitest";
import { expectArea } from "./area.ts";
import { LABELS, NO_LABELS, UTF16LE, UTF8 } from "./data/encoding.ts";
import { expectDeeds } from "./deeds.ts";

test("labels name the encodings that the Encoding Standard says", async () => {
  const pairs = Object.entries(LABELS).flatMap(([encoding, labels]) =>
    labels.map((label) => [label, encoding] as const),
  );
  const spelled = pairs.flatMap(([label, encoding]) => [
    [label, encoding] as const,
    [label.toUpperCase(), encoding] as const,
    [`\t\n\f\r ${label}\t\n\f\r `, encoding] as const,
  ]);
  const good = new Map(spelled);
  const cases = [...good].map(([label, encoding]) => ({
    name: JSON.stringify(label),
    input: label,
    expected: encoding,
  }));
  const bad = NO_LABELS.map((label) => ({ name: JSON.stringify(label), input: label, expected: "throws RangeError" }));
  await expectArea("encoding labels", "(label) => new TextDecoder(label).encoding", [...cases, ...bad]);
});

/** Decodes in one go, byte by byte, in pairs of bytes, and where malformed bytes are refused. */
const DECODE = `([label, hex]) => {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const inPieces = (size) => {
    const decoder = new TextDecoder(label);
    let text = "";
    for (let at = 0; at < bytes.length; at += size) text += decoder.decode(bytes.subarray(at, at + size), { stream: true });
    return text + decoder.decode();
  };
  let fatal;
  try { fatal = new TextDecoder(label, { fatal: true }).decode(bytes); } catch (error) { fatal = error.name; }
  return [new TextDecoder(label).decode(bytes), inPieces(1), inPieces(2), inPieces(3), fatal];
}`;

test("bytes are decoded as the Encoding Standard says", async () => {
  const swap = (hex: string) => hex.replaceAll(/(..)(..)/g, "$2$1");
  const table = [
    ...UTF8.map(([hex, text]) => ["utf-8", hex, text] as const),
    ...UTF16LE.map(([hex, text]) => ["utf-16le", hex, text] as const),
    ...UTF16LE.map(([hex, text]) => ["utf-16be", swap(hex), text] as const),
  ];
  const cases = table.map(([label, hex, text]) => ({
    name: `${label} ${hex}`,
    input: [label, hex],
    expected: [text, text, text, text, text.includes("\ufffd") ? "TypeError" : text],
  }));
  await expectArea("decoding", DECODE, cases);
});

test("text is encoded as the Encoding Standard says", async () => {
  const table = UTF8.filter(([hex, text]) => !text.includes("\ufffd") && !hex.startsWith("efbbbf"));
  const cases = table.map(([hex, text]) => ({ name: hex, input: text, expected: [hex, hex] }));
  const encode = `(text) => {
    const into = new Uint8Array(16);
    const { written } = new TextEncoder().encodeInto(text, into);
    return [new TextEncoder().encode(text), into.subarray(0, written)].map((bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join(""));
  }`;
  await expectArea("encoding", encode, cases);
});

test("decoders and encoders do what the Encoding Standard says", async () => {
  await expectDeeds("encoding deeds", [
    ["new TextEncoder().encoding", "utf-8"],
    ["[...new TextEncoder().encode()]", []],
    ["[...new TextEncoder().encode(undefined)]", []],
    ["[...new TextEncoder().encode(null)]", [110, 117, 108, 108]],
    ["[...new TextEncoder().encode('\\ud800')]", [239, 191, 189]],
    ["[...new TextEncoder().encode('\\udc00\\ud800')]", [239, 191, 189, 239, 191, 189]],
    ["new TextEncoder().encodeInto('€', new Uint8Array(2))", { read: 0, written: 0 }],
    ["new TextEncoder().encodeInto('a€', new Uint8Array(3))", { read: 1, written: 1 }],
    ["new TextEncoder().encodeInto('\u{1f600}a', new Uint8Array(5))", { read: 3, written: 5 }],
    ["new TextEncoder().encodeInto('a', new Uint16Array(1))", "throws TypeError"],
    ["new TextDecoder().encoding", "utf-8"],
    ["[new TextDecoder().fatal, new TextDecoder().ignoreBOM]", [false, false]],
    ["new TextDecoder().decode()", ""],
    ["new TextDecoder().decode(undefined)", ""],
    ["new TextDecoder().decode(new Uint8Array([97, 98, 99]).subarray(1, 2))", "b"],
    ["new TextDecoder().decode(new DataView(new Uint8Array([97, 98]).buffer, 1))", "b"],
    ["new TextDecoder().decode(new Uint8Array([97]).buffer)", "a"],
    ["new TextDecoder().decode('a')", "throws TypeError"],
    ["new TextDecoder().decode([97])", "throws TypeError"],
    ["new TextDecoder('utf-8', { ignoreBOM: true }).decode(new Uint8Array([239, 187, 191, 97])).length", 2],
    ["new TextDecoder('utf-16le', { ignoreBOM: true }).decode(new Uint8Array([255, 254])).length", 1],
    ["new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255]))", "throws TypeError"],
    [
      "{ const d = new TextDecoder('utf-8', { fatal: true }); try { d.decode(new Uint8Array([226, 130])); } catch {} return d.decode(new Uint8Array([97])); }",
      "a",
    ],
    [
      "{ const d = new TextDecoder(); d.decode(new Uint8Array([226]), { stream: true }); return d.decode(new Uint8Array([130, 172])); }",
      "€",
    ],
    [
      "{ const d = new TextDecoder(); d.decode(new Uint8Array([239, 187]), { stream: true }); return d.decode(new Uint8Array([191, 97])); }",
      "a",
    ],
    [
      "{ const d = new TextDecoder(); d.decode(new Uint8Array([226]), { stream: true }); return [d.decode(), d.decode(new Uint8Array([97]))]; }",
      ["\ufffd", "a"],
    ],
    ["new TextDecoder('latin1').decode(new Uint8Array([0x80, 0x81, 0x9f, 0xa0, 0xff]))", "€\u0081Ÿ\u00a0ÿ"],
    ["TextDecoder()", "throws TypeError"],
  ]);
});
