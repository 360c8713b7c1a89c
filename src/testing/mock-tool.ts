import { type AmplifierResult, toolResult } from "../contrib/amplifier/contract/amplifier.ts";
import type { AmplifierTool } from "../contrib/amplifier/contract/tool.ts";

export interface MockToolOptions {
  readonly name?: string;
  readonly description?: string;
  readonly input_schema?: Readonly<Record<string, unknown>>;
  /** Output of every execution. */
  readonly return_value?: unknown;
}

/** Tool that returns a configured output and records its input. */
export class MockTool implements AmplifierTool<AmplifierResult> {
  readonly name: string;
  readonly description: string;
  readonly input_schema: Readonly<Record<string, unknown>>;
  /** Number of executions. */
  call_count = 0;
  /** Input of the last execution; `null` before the first. */
  last_input: Readonly<Record<string, unknown>> | null = null;
  readonly #output: unknown;

  constructor(options: MockToolOptions = {}) {
    const { name = "mock_tool", description = "Answers what it was told to answer.", input_schema = {} } = options;
    this.name = name;
    this.description = description;
    this.input_schema = input_schema;
    this.#output = options.return_value ?? null;
  }

  async execute(input: Readonly<Record<string, unknown>>): Promise<AmplifierResult> {
    this.call_count++;
    this.last_input = input;
    return toolResult({ output: this.#output });
  }
}
