import { isObject } from "../../kernel/base/json.ts";
import { type XaiboTool, xaibo } from "./contract/xaibo.ts";
import { AgentError, listOf } from "./agent-config.ts";
import { guardedProvider } from "./guarded-provider.ts";
import type { LLM, LLMMessage } from "./llm.ts";
import type { ToolProviderProtocol } from "./protocol.ts";

/** Options of tools that send a model one request. */
export interface OneShotOptions {
  /** Reads the image at a path, which a model gave, as a `data:` URL. Default: only URLs are taken. */
  readonly readImage?: (path: string) => Promise<string>;
  /** Timeout of the model's answer, in milliseconds. Default 60,000. */
  readonly callMs?: number;
}

type Part = { readonly type: "text"; readonly text: string } | { readonly type: "image_url"; readonly url: string };
type Entry = { readonly role: "system" | "user" | "assistant"; readonly message: readonly Part[] };
type Parameters = { readonly [name: string]: unknown };

/** Maximum length of one part of a conversation, with its parameters. */
const CHARS_MAX = 1_000_000;
const PLACEHOLDER = /\$\$params\.(\w+)\$\$/g;
const IMAGE_URL = /^(?:https?|data):/i;

/**
 * A provider of tools that are prompts: `OneShotTools` with the `config` of Xaibo's module. A call fills its
 * parameters into the conversation and answers with the model's text. Throws an `AgentError`, or a `ContractError`.
 */
export function oneShotTools(config: unknown, llm: LLM, options: OneShotOptions = {}): ToolProviderProtocol {
  const defined = isObject(config) ? config["tools"] : undefined;
  const found = listOf(defined, "tools").map((one, at) => readTool(one, `tools/${at}`));
  const conversations = new Map(found.map(({ tool, conversation }) => [tool.name, conversation]));
  return guardedProvider({
    tools: found.map(({ tool }) => tool),
    ...(options.callMs === undefined ? {} : { callMs: options.callMs }),
    execute: async (name, parameters, { signal }) => {
      const messages: LLMMessage[] = [];
      for (const entry of conversations.get(name) ?? []) messages.push(await filled(entry, parameters, options));
      const { content } = await llm.generate(messages, signal === undefined ? {} : { signal });
      if (typeof content !== "string" || content === "") throw new Error("No response generated");
      return content;
    },
  });
}

function readTool(
  value: unknown,
  place: string,
): { readonly tool: XaiboTool; readonly conversation: readonly Entry[] } {
  if (!isObject(value)) throw new AgentError(`${place} must be an object`);
  const { name, description } = value;
  const entries = listOf(value["parameters"] ?? [], `${place}/parameters`).map((one, at) => {
    if (isObject(one) && typeof one["name"] === "string") return [one["name"], { ...one, required: true }] as const;
    throw new AgentError(`${place}/parameters/${at} must have a name`);
  });
  // Checked at once, so that `XaiboTool` is true of it.
  const tool = { name, description, parameters: Object.fromEntries(entries) } as unknown as XaiboTool;
  xaibo.readTool(tool);
  const conversation = listOf(value["conversation"], `${place}/conversation`);
  return { tool, conversation: conversation.map((one, at) => readEntry(one, `${place}/conversation/${at}`)) };
}

function readEntry(value: unknown, place: string): Entry {
  const role = isObject(value) ? value["role"] : undefined;
  if (!isObject(value) || (role !== "system" && role !== "user" && role !== "assistant")) {
    throw new AgentError(`${place}/role must be system, user or assistant`);
  }
  return {
    role,
    message: listOf(value["message"], `${place}/message`).map((one, at) => readPart(one, `${place}/message/${at}`)),
  };
}

function readPart(value: unknown, place: string): Part {
  const { type, text, url } = isObject(value) ? value : {};
  if (type === "text" && typeof text === "string" && text !== "") return { type, text };
  if (type === "image_url" && typeof url === "string" && url !== "") return { type, url };
  throw new AgentError(`${place} must be a text, or an image_url with a url`);
}

async function filled({ role, message }: Entry, parameters: Parameters, options: OneShotOptions): Promise<LLMMessage> {
  const texts: string[] = [];
  const images: string[] = [];
  for (const part of message) {
    if (part.type === "text") texts.push(fill(part.text, parameters));
    else images.push(await imageAt(fill(part.url, parameters), options));
  }
  const content = texts.join("\n");
  if (role === "assistant") return { role, content };
  return images.length === 0 ? { role, content } : { role, content, images };
}

/** Replaces each placeholder once: a value that looks like a placeholder stays unchanged. */
function fill(text: string, parameters: Parameters): string {
  let chars = text.length;
  return text.replaceAll(PLACEHOLDER, (whole, name: string) => {
    if (!Object.hasOwn(parameters, name)) return whole;
    const value = parameters[name];
    const shown = typeof value === "string" ? value : JSON.stringify(value);
    chars += shown.length;
    if (chars > CHARS_MAX) throw new Error(`the prompt has more than ${CHARS_MAX} characters with its parameters`);
    return shown;
  });
}

async function imageAt(url: string, { readImage }: OneShotOptions): Promise<string> {
  if (IMAGE_URL.test(url)) return url;
  if (readImage !== undefined) return readImage(url);
  throw new Error("an image is read from a path only with the option readImage; give its URL");
}
