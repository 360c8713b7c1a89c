import type { Loss } from "./contract.ts";

/** Losses of several fields for the same reason. */
export function lost(of: Loss["of"], why: string, ...fields: readonly string[]): readonly Loss[] {
  return fields.map((field) => ({ of, field, why }));
}

/** Loss of contracts whose tools have no commands. */
export const NO_COMMANDS: Loss = { of: "call", field: "command", why: "a tool is called, and has no commands" };

/** Losses of all contracts that describe tools to a model. */
export const MODEL_LOSSES: readonly Loss[] = [
  ...lost(
    "tool",
    "a model is told what a tool does, not how it is run",
    "version",
    "tags",
    "limits",
    "retries",
    "outputChars",
  ),
  ...lost("tool", "there is no place for what a tool promises of itself", "annotations"),
  ...lost("tool", "a schema of parameters says that it is an object's", "inputSchema"),
  ...lost("tool", "a name that is too long is cut, and ends in a checksum", "name"),
  ...lost("call", "a name that is too long is cut, and ends in a checksum", "name"),
  NO_COMMANDS,
  ...lost("result", "a model is not told what a call cost", "metadata"),
];

/** Loss of contracts whose results have no place for images. */
export const NO_MEDIA: Loss = { of: "result", field: "output", why: "images, audio and files are named, not shown" };

/** Loss of contracts whose results have places for texts and images. */
export const IMAGES_ONLY: Loss = { of: "result", field: "output", why: "audio and files are named, not shown" };

/** Loss of contracts that write content in another form. */
export const CONTENT_LOSS: Loss = { of: "result", field: "output", why: "content is read as its parts" };

/** Further losses of contracts whose results are only text. */
export const TEXT_LOSSES: readonly Loss[] = [
  ...lost("result", "a text that is JSON is read as what it stands for", "output"),
  ...lost("result", "a failure is told by its message", "error.type", "error.code", "error.retryable", "error.details"),
];
