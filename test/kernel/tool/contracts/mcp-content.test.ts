import { describe, expect, test } from "vitest";
import { emptyMetadata, failure, success } from "../../../../src/kernel/base/result.ts";
import { toolError } from "../../../../src/kernel/base/errors.ts";
import { mcp } from "../../../../src/standard/contracts.ts";

const META = emptyMetadata("call-1", "tool", 0);
const write = (output: unknown) => mcp.writeResult(success(output, META));
const text = (value: unknown) => ({ type: "text", text: typeof value === "string" ? value : JSON.stringify(value) });

const many = (length: number) => Array.from({ length }, () => text("a"));

const PNG = "iVBORw0KGgoAAAANSUhEUg==";
const IMAGE = { type: "image", data: PNG, mimeType: "image/png" };
const AUDIO = { type: "audio", data: "UklGRg==", mimeType: "audio/wav" };
const RESOURCE = { type: "resource", resource: { uri: "test://a", mimeType: "text/plain", text: "A" } };
const BLOB = { type: "resource", resource: { uri: "test://b", blob: PNG } };
const LINK = { type: "resource_link", uri: "https://example.com/a", name: "a", title: "A", size: 3, mimeType: "a/b" };
const ANNOTATIONS = { audience: ["user"], priority: 0.5, lastModified: "2026-01-02T03:04:05Z" };
const BLOCKS = { image: IMAGE, audio: AUDIO, resource: RESOURCE, "binary resource": BLOB, link: LINK } as const;

describe("content reaches clients of MCP as such:", () => {
  test.each(Object.entries(BLOCKS))("an output that is a block (%s)", (_name, block) => {
    expect(write(block)).toEqual({ content: [block] });
    expect(mcp.readResult(write(block))).toEqual({ ok: true, output: block });
  });

  test("a list with a block in it, of which the rest becomes text", () => {
    expect(write(["Look:", IMAGE, { a: 1 }, null, text("here")])).toEqual({
      content: [text("Look:"), IMAGE, text({ a: 1 }), text("null"), text("here")],
    });
  });

  test("a result of the protocol, with what is structured and with its failure", () => {
    const content = [text("Hi"), ...Object.values(BLOCKS)];
    expect(write({ content })).toEqual({ content });
    expect(write({ content, structuredContent: { a: 1 }, isError: false })).toEqual({
      content,
      structuredContent: { a: 1 },
    });
    expect(write({ content: [text("no")], isError: true })).toEqual({ content: [text("no")], isError: true });
  });

  test("an image of Strands, by its first bytes", () => {
    expect(write({ image: { base64: PNG } })).toEqual({ content: [IMAGE] });
    const kinds = [
      ["/9j/4AAQ", "image/jpeg"],
      ["R0lGODlh", "image/gif"],
      ["UklGRgAA", "image/webp"],
    ] as const;
    for (const [base64, mimeType] of kinds)
      expect(write([{ image: { base64 } }])).toEqual({ content: [{ type: "image", data: base64, mimeType }] });
  });

  test("what a block says of itself", () => {
    const block = { ...IMAGE, annotations: ANNOTATIONS, _meta: { "a/b": 1 } };
    expect(write(block)).toEqual({ content: [block] });
    expect(write({ content: [{ ...text("a"), annotations: ANNOTATIONS }] })).toEqual({
      content: [{ ...text("a"), annotations: ANNOTATIONS }],
    });
  });

  test("an image, a document and a video of the Strands SDK, which say their formats", () => {
    const source = { bytes: { base64: "AAE=" } };
    expect(write({ image: { format: "jpeg", source } })).toEqual({
      content: [{ type: "image", data: "AAE=", mimeType: "image/jpeg" }],
    });
    const resource = { uri: "attachment:///a%20b.pdf", mimeType: "application/pdf", blob: "AAE=" };
    expect(write({ document: { format: "pdf", name: "a b", source } })).toEqual({
      content: [{ type: "resource", resource }],
    });
    const video = { uri: "attachment:///video.odd", blob: "AAE=" };
    expect(write({ video: { format: "odd", source } })).toEqual({ content: [{ type: "resource", resource: video }] });
    expect(write({ document: { format: "pdf", name: "\ud800", source } })).toMatchObject({
      content: [{ type: "resource" }],
    });
  });

  test("what a failed tool had made", () => {
    const failed = { ...failure(toolError("tool_error", "no"), META), output: ["a", IMAGE] };
    expect(mcp.writeResult(failed)).toMatchObject({ content: [text("no"), text("a"), IMAGE], isError: true });
  });
});

describe("content that clients would refuse becomes text:", () => {
  test.each<[what: string, block: object]>([
    ["a block of another type", { type: "video", data: PNG, mimeType: "video/mp4" }],
    ["data that is not Base64", { ...IMAGE, data: "no base64!" }],
    ["Base64 of a wrong length", { ...IMAGE, data: "abc" }],
    ["an image without a media type", { type: "image", data: PNG }],
    ["a text that is a number", { type: "text", text: 1 }],
    ["a resource without an address", { type: "resource", resource: { text: "A" } }],
    ["a resource without contents", { type: "resource", resource: { uri: "test://a" } }],
    ["a link without a name", { type: "resource_link", uri: "https://example.com" }],
    ["a link whose size is a text", { ...LINK, size: "3" }],
    ["annotations that are a list", { ...IMAGE, annotations: [] }],
    ["an audience that there is not", { ...IMAGE, annotations: { audience: ["nobody"] } }],
    ["a priority above 1", { ...IMAGE, annotations: { priority: 2 } }],
    ["a date of another form", { ...IMAGE, annotations: { lastModified: "yesterday" } }],
    ["a _meta that is a text", { ...IMAGE, _meta: "a" }],
    ["a _meta of more than 64 members", { ...IMAGE, _meta: Object.fromEntries(many(65).map((_, at) => [at, 1])) }],
    ["a resource whose _meta is a list", { type: "resource", resource: { uri: "a:b", text: "", _meta: [] } }],
  ])("%s", (_what, block) => {
    expect(write({ content: [block, IMAGE] })).toEqual({ content: [text(block), IMAGE] });
    // Alone it is data like other data.
    expect(write(block)).toEqual({ content: [text(block)], structuredContent: block });
  });

  test("members that no block has are left out", () => {
    expect(write({ ...IMAGE, more: 1 })).toEqual({ content: [IMAGE] });
  });
});

describe("data stays data:", () => {
  test.each<[what: string, output: unknown]>([
    ["an object with a list as its content", { content: ["a"] }],
    ["an empty content", { content: [] }],
    ["a content beside other members", { content: [text("a")], id: 1 }],
    ["a content whose structured part is a list", { content: [text("a")], structuredContent: [] }],
    ["an isError that is a text", { content: [text("a")], isError: "yes" }],
    ["more than 256 blocks", { content: many(257) }],
    ["a list of more than 256 values", [IMAGE, ...many(256)]],
    ["a block of text", text("a")],
    ["a list of texts", ["a", text("b")]],
    ["an image of Strands of an unknown kind", { image: { base64: "AAAA" } }],
    ["null", null],
  ])("%s", (_what, output) => {
    expect(write(output)).toEqual({ content: [text(output)], structuredContent: output });
  });
});
