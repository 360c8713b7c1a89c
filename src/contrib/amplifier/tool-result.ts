import { type AmplifierError, type AmplifierResult, serializedOutput, toolResult } from "./contract/amplifier.ts";

/** Amplifier's result class: with defaults for omitted fields, and its text for a model. */
export class ToolResult implements AmplifierResult {
  readonly success: boolean;
  readonly output: unknown;
  readonly error: AmplifierError | null;
  readonly metadata: Readonly<Record<string, unknown>>;

  constructor(fields: Partial<AmplifierResult> = {}) {
    const { success, output, error, metadata } = toolResult(fields);
    this.success = success;
    this.output = output;
    this.error = error;
    this.metadata = metadata;
  }

  /** Output as text: strings unchanged, other values as JSON, errors as `Error: …`. */
  get_serialized_output(): string {
    return serializedOutput(this);
  }
}
