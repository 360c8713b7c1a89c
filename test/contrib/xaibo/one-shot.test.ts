import { describe, expect, test } from "vitest";
import { type LLM, type LLMMessage, oneShotTools, type OneShotOptions } from "../../../src/contrib/xaibo/index.ts";

const text = (said: string) => ({ type: "text", text: said });
const image = (url: string) => ({ type: "image_url", url });
const parameter = (name: string) => ({ name, type: "string", description: "d" });

function toolOf(message: readonly object[], options?: OneShotOptions, answer = "done") {
  const asked: (readonly LLMMessage[])[] = [];
  const llm: LLM = {
    generate: async (messages) => {
      asked.push(messages);
      return { content: answer };
    },
  };
  const conversation = [
    { role: "system", message: [text("Be short.")] },
    { role: "user", message },
  ];
  const parameters = [parameter("a"), parameter("b")];
  const returns = { type: "string", description: "d" };
  const provider = oneShotTools(
    { tools: [{ name: "ask", description: "Asks.", parameters, returns, conversation }] },
    llm,
    options,
  );
  return { asked, run: (a: string, b = "") => provider.execute_tool("ask", { a, b }), provider };
}

describe("a tool that is a prompt", () => {
  test("is listed with its parameters, all of them required", async () => {
    expect(await toolOf([text("x")]).provider.list_tools()).toMatchObject([
      { name: "ask", parameters: { a: { type: "string", required: true }, b: { required: true } } },
    ]);
    expect((await toolOf([text("x")]).provider.execute_tool("ask", { a: "1" })).success).toBe(false);
  });

  test("asks the model once, with its parameters in the conversation, each filled in once", async () => {
    const { run, asked } = toolOf([text("A is $$params.a$$,"), text("B is $$params.b$$, C is $$params.c$$.")]);
    expect(await run("$$params.b$$", "2")).toMatchObject({ success: true, result: "done" });
    expect(asked).toEqual([
      [
        { role: "system", content: "Be short." },
        { role: "user", content: "A is $$params.b$$,\nB is 2, C is $$params.c$$." },
      ],
    ]);
  });

  test("fails where the model answers nothing", async () => {
    expect((await toolOf([text("x")], {}, "").run("1")).error).toBe("Unexpected error: No response generated");
  });

  test("fails where its parameters make it too long", async () => {
    const { run, asked } = toolOf([text("$$params.a$$".repeat(1_000))]);
    expect((await run("x".repeat(2_000))).error).toContain("the prompt has more than 1000000 characters");
    expect(asked).toEqual([]);
  });

  test("has images by their URLs, and from paths only with a reader of its own", async () => {
    const data = "data:image/png;base64,AAAA";
    const { run, asked } = toolOf([text("See"), image("$$params.a$$")]);
    await run(data);
    expect(asked[0]?.[1]).toEqual({ role: "user", content: "See", images: [data] });
    expect((await run("/etc/passwd")).error).toContain("only with the option readImage; give its URL");
    const read = toolOf([image("$$params.a$$")], { readImage: async (path) => `data:${path}` });
    await read.run("/a.png");
    expect(read.asked[0]?.[1]).toMatchObject({ images: ["data:/a.png"] });
  });

  test.each([
    [{}, "tools must be a list"],
    [{ tools: [{ name: "a", description: "d", conversation: [{ role: "nobody" }] }] }, "conversation/0/role must be"],
    [{ tools: [{ name: "a", description: "d" }] }, "tools/0/conversation must be a list"],
    [{ tools: [{ name: "a b", description: "d" }] }, "/name"],
  ])("is refused where it is %j", (config, message) => {
    expect(() => oneShotTools(config, { generate: async () => ({}) })).toThrow(message);
  });
});
