/** By this the `ai` package knows a schema that it need not convert. */
const AI_SCHEMA = Symbol.for("vercel.ai.schema");

/**
 * A JSON Schema as the `ai` package takes it: to its code one of its own, so that the schema reaches the model unchanged,
 * and to its types a Standard Schema, which can be one without importing it. It checks nothing: the engine does.
 */
export class AiSchema {
  readonly jsonSchema: Record<string, unknown>;

  constructor(jsonSchema: Record<string, unknown>) {
    this.jsonSchema = jsonSchema;
  }

  get [AI_SCHEMA](): true {
    return true;
  }

  get validate(): undefined {
    return undefined;
  }

  get "~standard"() {
    const { jsonSchema } = this;
    return {
      version: 1,
      vendor: "glovebox",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => structuredClone(jsonSchema), output: () => structuredClone(jsonSchema) },
    } as const;
  }
}
