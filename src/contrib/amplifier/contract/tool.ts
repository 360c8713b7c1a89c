/** An Amplifier tool as an object in its author's own process. */
export interface AmplifierTool<Result = unknown> {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly input_schema?: Readonly<Record<string, unknown>>;
  /** The older form of `input_schema`. */
  get_schema?(): Readonly<Record<string, unknown>>;
  execute(input: Readonly<Record<string, unknown>>): Promise<Result>;
}

/** Whether a value has the required members of a tool: name, description and execute. A schema is optional. */
export function isTool(value: unknown): value is AmplifierTool {
  if (typeof value !== "object" || value === null) return false;
  return (
    typeof Reflect.get(value, "name") === "string" &&
    typeof Reflect.get(value, "description") === "string" &&
    typeof Reflect.get(value, "execute") === "function"
  );
}

/** The schema of a tool's input: its `input_schema`, else the result of `get_schema()`, else `{}`. */
export function getInputSchema(tool: Omit<AmplifierTool, "execute">): Readonly<Record<string, unknown>> {
  return tool.input_schema ?? tool.get_schema?.() ?? {};
}
