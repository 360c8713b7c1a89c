import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The document's own modules and workflows. */
export const SAMPLES = fileURLToPath(new URL("../../../fixtures/contracts/strands", import.meta.url));

/** A folder for a test, with these files in it; removed at its end. */
export class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "glovebox-strands-"));

  constructor(files: { readonly [name: string]: string } = {}) {
    for (const [name, text] of Object.entries(files)) this.write(name, text);
  }

  /** Answers the file's path. */
  write(name: string, text: string): string {
    const file = join(this.path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  at(name: string): string {
    return join(this.path, name);
  }

  remove(name: string): void {
    rmSync(this.at(name), { recursive: true });
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

/** A module of a tool that answers with its own name. */
export function toolModule(name: string, description?: string): string {
  const spec = {
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema: { json: { type: "object" } },
  };
  return `
export const TOOL_SPEC = ${JSON.stringify(spec)};
export function ${name}(tool) {
  return { toolUseId: tool.toolUseId, status: "success", content: [{ text: ${JSON.stringify(name)} }] };
}
`;
}

/** A text of the document's workflow, and what stands there instead. */
export type Change = readonly [from: string, to: string];

/** The document's workflow, changed in some places. */
export function workflow(...changes: readonly Change[]): string {
  return changes.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the workflow has no ${from}`);
    return text.replace(from, to);
  }, WORKFLOW);
}

const WORKFLOW = `
version: 0
name: echo-validation-test
description: Test echo tool validation

runtime:
  provider: ollama
  model_id: llama3.2:3b
  host: http://localhost:11434

agents:
  assistant:
    prompt: "Test assistant"

pattern:
  type: chain
  config:
    steps:
      - agent: assistant
        input: "Test"

tools:
  python:
    - echo

outputs:
  artifacts:
    - path: result.txt
      from: "{{ last_response }}"
`;
