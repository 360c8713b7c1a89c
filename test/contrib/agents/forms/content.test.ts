import type { ToolResultPart } from "ai";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { describe, expect, test } from "vitest";
import { toolError } from "../../../../src/kernel/base/errors.ts";
import { emptyMetadata, failure, success } from "../../../../src/kernel/base/result.ts";
import {
  AiToolFailure,
  aiSdk,
  anthropic,
  gemini,
  openaiChat,
  openaiResponses,
} from "../../../../src/standard/contracts.ts";

const META = emptyMetadata("c1", "chart", 0);
const PNG = `iVBORw0KGgo${"A".repeat(299_989)}`;
const SAID = { type: "text", text: "Sales in May:" } as const;
const IMAGE = { type: "image", mimeType: "image/png", data: PNG } as const;
const AUDIO = { type: "audio", mimeType: "audio/wav", data: "UklGRg==" } as const;
const PAGE = { type: "resource", resource: { uri: "a:b", text: "a page" } } as const;
const PDF = { type: "resource", resource: { uri: "a:c", mimeType: "application/pdf", blob: "JVBERi0=" } } as const;
const NAMED = "[image/png, 225 kB: this format cannot show it]";
const CHART = { content: [SAID, IMAGE] };
const FAILED = { content: [{ type: "text", text: "no paper" }, IMAGE], isError: true };

const claude = (output: unknown) => anthropic.writeResult(success(output, META));
const respond = (output: unknown) => openaiResponses.writeResult(success(output, META)).output;
const chat = (output: unknown) => openaiChat.writeResult(success(output, META)).content;
const answer = (output: unknown) => gemini.writeResult(success(output, META)).functionResponse.response;
const part = (output: unknown) => aiSdk.writeResult(success(output, META)).output;
const shown = (mediaType: string, data: string) => ({
  type: "image",
  source: { type: "base64", media_type: mediaType, data },
});
const inputText = (text: string) => ({ type: "input_text", text });

describe("an image in content is", () => {
  test("a block of Anthropic's", () => {
    expect(claude(CHART)).toEqual({
      type: "tool_result",
      tool_use_id: "c1",
      content: [SAID, shown("image/png", PNG)],
    });
    expect(anthropic.readResult(claude(CHART))).toEqual({ ok: true, output: [SAID.text, IMAGE] });
  });

  test("an image of OpenAI's responses, in the form of their types", () => {
    const item: ResponseInputItem.FunctionCallOutput = openaiResponses.writeResult(success(CHART, META));
    expect(item.output).toEqual([
      inputText(SAID.text),
      { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
    ]);
    expect(openaiResponses.readResult(item)).toEqual({ ok: true, output: [SAID.text, IMAGE] });
  });

  test("a file of the AI SDK, in the form of its types, as audio and documents are", () => {
    const output: ToolResultPart["output"] = aiSdk.writeResult(
      success({ content: [SAID, IMAGE, AUDIO, PDF] }, META),
    ).output;
    const file = (mediaType: string, data: string) => ({ type: "file", mediaType, data: { type: "data", data } });
    expect(output).toEqual({
      type: "content",
      value: [SAID, file("image/png", PNG), file("audio/wav", "UklGRg=="), file("application/pdf", "JVBERi0=")],
    });
    expect(aiSdk.readResult(aiSdk.writeResult(success(CHART, META)))).toEqual({ ok: true, output: [SAID, IMAGE] });
  });

  test("named for OpenAI's chat and for Gemini, and the contracts say so", () => {
    expect(chat(CHART)).toEqual([SAID, { type: "text", text: NAMED }]);
    expect(chat(IMAGE)).toBe(NAMED);
    expect(answer(CHART)).toEqual({ output: [SAID.text, NAMED] });
    expect(answer([IMAGE])).toEqual({ output: NAMED });
    for (const { losses } of [openaiChat, gemini]) {
      expect(losses).toContainEqual(
        expect.objectContaining({ field: "output", why: expect.stringContaining("images") }),
      );
    }
  });
});

test("audio and files are named where the format has images only, and the text of a resource is a text", () => {
  const [audio, file] = [
    "[audio/wav, 4 bytes: this format cannot show it]",
    "[application/pdf, 5 bytes: this format cannot show it]",
  ];
  const content = [PAGE, AUDIO, PDF];
  expect(claude({ content }).content).toEqual(["a page", audio, file].map((text) => ({ type: "text", text })));
  expect(respond({ content })).toEqual(["a page", audio, file].map(inputText));
});

describe("content that says that it is an error", () => {
  test("is a failure, in texts, for Anthropic refuses others there", () => {
    expect(claude(FAILED)).toMatchObject({
      content: [
        { type: "text", text: "no paper" },
        { type: "text", text: NAMED },
      ],
      is_error: true,
    });
    expect(claude({ content: [{ type: "text", text: "" }], isError: true })).toMatchObject({
      content: "The tool has failed, and says nothing.",
      is_error: true,
    });
  });

  test("is told as failures are elsewhere", () => {
    expect(chat({ content: [SAID], isError: true })).toBe("Error: Sales in May:");
    expect(respond(FAILED)).toMatchObject([inputText("Error: no paper"), { type: "input_image" }]);
    expect(respond({ content: [IMAGE], isError: true })).toMatchObject([
      inputText("Error: the tool has failed"),
      { type: "input_image" },
    ]);
    expect(answer(FAILED)).toMatchObject({ error: { message: "no paper" }, output: NAMED });
    expect(part({ content: [SAID], isError: true })).toEqual({ type: "text", value: "Error: Sales in May:" });
  });
});

test("what a failed tool had made is no Base64 in a text either", () => {
  const failed = { ...failure(toolError("tool_error", "too late"), META), output: CHART };
  const written = [anthropic, openaiChat, gemini, aiSdk].map((contract) => contract.writeResult(failed));
  const told = [...written, new AiToolFailure(failed.error, failed).message].map((each) => JSON.stringify(each));
  for (const text of told) {
    expect(text).toContain("too late");
    expect(text).toContain(NAMED);
    expect(text.length).toBeLessThan(1_000);
  }
});

describe("content of a hostile tool", () => {
  const textOf = (output: unknown) => claude(output).content;
  const image = (data: unknown, mimeType: unknown) => ({ type: "image", data, mimeType });

  test("stays JSON where a block is unknown or malformed", () => {
    const odd = [{ type: "hologram", a: 1 }, image(7, "image/png"), image("no base64", "image/png"), image("AAAA", 1)];
    expect(textOf({ content: odd })).toEqual(odd.map((each) => ({ type: "text", text: JSON.stringify(each) })));
    for (const data of [{ content: [] }, { content: [1] }, { content: [SAID], more: 1 }, { content: "a" }, null]) {
      expect(textOf(data)).toBe(JSON.stringify(data));
    }
  });

  test("has the type that an image's bytes say, and no other type than APIs take", () => {
    const gif = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
    expect(textOf(image(gif, "image/png"))).toEqual([shown("image/gif", gif)]);
    expect(textOf(image("AAAA", "image/svg+xml"))).toBe("[image/svg+xml, 3 bytes: this format cannot show it]");
    expect(textOf(image("AAAA", "x".repeat(10_000)))).toBe("[image, 3 bytes: this format cannot show it]");
    expect(part(image("AAAA", "a;b,c"))).toEqual({
      type: "text",
      value: "[image, 3 bytes: this format cannot show it]",
    });
  });

  test("shows 20 images of at most 5 MiB, and no empty ones or blank texts", () => {
    const blank = { type: "text", text: " \n" };
    const written = textOf({ content: [blank, image("", "image/png"), ...Array.from({ length: 30 }, () => IMAGE)] });
    if (typeof written === "string") throw new Error("is no list");
    expect(written).toHaveLength(31);
    expect(written.filter(({ type }) => type === "image")).toHaveLength(20);
    expect(written[0]).toEqual({ type: "text", text: "[image/png, 0 bytes: this format cannot show it]" });
    const large = image("AAAA".repeat(1_400_000), "image/png");
    expect(textOf(large)).toBe("[image/png, 4200 kB: this format cannot show it]");
  });

  test("has a bound for links, and says its data once", () => {
    const link = { type: "resource_link", uri: "a:b", name: "n".repeat(100_000) };
    expect(textOf({ content: [link] })).toHaveLength(2_000);
    const structuredContent = { a: 1 };
    expect(textOf({ content: [SAID], structuredContent })).toEqual([SAID, { type: "text", text: '{"a":1}' }]);
    expect(textOf({ content: [{ type: "text", text: '{"a":1}' }], structuredContent })).toBe('{"a":1}');
  });
});
