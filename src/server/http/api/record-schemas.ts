import { type ApiSchema, exactly, listOf, text } from "./schema-parts.ts";

const WHOLE = { type: "integer" };
const FIELDS: ApiSchema = { type: "object", description: "Fields by name: `type`, `description`, `min`, `max`, …" };
const SPEC = {
  type: "object",
  properties: { input: FIELDS, output: FIELDS, management: FIELDS },
  required: ["input", "output"],
};

const RECORD: ApiSchema = {
  tool_id: { type: "string", pattern: "^[A-Za-z0-9_.-]{1,128}$" },
  tool_metadata: {
    type: "object",
    description: "`author`, `version`, `language`, `license` and `description`.",
  },
  tool_search_description: text("By which it is found."),
  tool_tags: { type: "array", items: { type: "string" }, maxItems: 64 },
  tool_type: text("Its type."),
  tool_sub_type: text("Its sub type."),
  tool_runtime_type: { enum: ["python", "javascript", "typescript", "node", "binary"] },
  tools_api_spec: SPEC,
  tool_source_code_link: text("Address of its package: an upload of this server, or an archive elsewhere."),
  tool_man_page_doc_link: text("Address of a page about it."),
};

const REGISTRATION = exactly({
  registered_by: text("operator, key:NAME or local."),
  created_at: text("When the first record of this id was registered: ISO 8601."),
  updated_at: text("When this record was registered: ISO 8601."),
  revision: WHOLE,
});

const SUMMARY = {
  tool_id: text("Its id."),
  description: text("The beginning of its description."),
  version: text("Its version."),
  tool_tags: listOf({ type: "string" }),
  tool_type: text("Its type."),
  tool_sub_type: text("Its sub type."),
  tool_runtime_type: text("Its runtime."),
  registration: REGISTRATION,
};
const OPTIONAL = ["version", "tool_type", "tool_sub_type"];

/** Schemas of AgentSpace's registry, by their names in the OpenAPI document. */
export const RECORD_SCHEMAS = {
  RegistrationRecord: {
    type: "object",
    properties: { ...RECORD, tool_data: { type: "object", description: "Given to the tool, and shown to nobody." } },
    required: ["tool_id", "tool_runtime_type", "tool_source_code_link", "tools_api_spec"],
  },
  RegisteredRecord: exactly(
    { ...RECORD, tool_data_names: listOf(text("A member of `tool_data`.")), registration: REGISTRATION },
    ["tool_metadata", "tool_search_description", "tool_tags", "tool_type", "tool_sub_type", "tool_man_page_doc_link"],
  ),
  RecordPage: exactly(
    {
      tools: listOf(exactly(SUMMARY, OPTIONAL)),
      next: text("Where the next page begins; absent on the last one. A page may be short though more follow."),
    },
    ["next"],
  ),
  FoundRecords: exactly({
    hits: listOf(exactly({ ...SUMMARY, score: { type: "number", description: "Higher is better." } }, OPTIONAL)),
  }),
  RecordForm: exactly({
    tool_id: text("The tool."),
    title: text("What the tool does."),
    fields: listOf({ type: "object", description: "A control: `name`, `label`, `control`, `required`, …" }),
    html: text("The form, in which all text of the record is escaped."),
  }),
  RecordVersions: exactly({
    versions: listOf(
      exactly(
        {
          revision: WHOLE,
          version: text("`tool_metadata.version`."),
          registered_by: text("operator, key:NAME or local."),
          registered_at: text("ISO 8601."),
          in_force: { type: "boolean", description: "Whether calls run it." },
        },
        ["version"],
      ),
    ),
  }),
  RecordSpec: exactly({
    input: { type: "object", description: "A JSON Schema." },
    output: { type: "object", description: "A JSON Schema." },
  }),
  RecordCommands: exactly({
    supported: { type: "boolean", description: "Whether it has commands at all." },
    commands: listOf(text("A text with which its code compares the command's name; it may know others.")),
  }),
} as const satisfies Readonly<Record<string, ApiSchema>>;
