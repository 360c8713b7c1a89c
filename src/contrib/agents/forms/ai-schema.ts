import { copyJson } from "../../../kernel/base/json-writer.ts";

/** The symbol by which the `ai` package recognizes a schema that needs no conversion. */
const AI_SCHEMA = Symbol.for("vercel.ai.schema");

/**
 * A JSON Schema for the `ai` package: at run time one of the package's own schemas, so that it reaches the model
 * unchanged; for its types a Standard Schema, which needs no import. It does not validate: the engine does.
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
      jsonSchema: { input: () => copyJson(jsonSchema), output: () => copyJson(jsonSchema) },
    } as const;
  }
}
