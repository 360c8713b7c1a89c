import "../../kernel/base/check-node.ts";
export { agentspace } from "./contract/agentspace.ts";
export type { RegistrationRecord, ToolMetadata } from "./contract/record.ts";
export { type Fields, type FieldSpec, fieldsOf, type ToolsApiSpec, writeSchema } from "./contract/spec.ts";
export type { Form, FormField } from "./form.ts";
export {
  createRegistry,
  type FoundSummaries,
  type RecordPage,
  type RegisteredRecord,
  type RegisterOptions,
  type Registry,
  type RegistryOptions,
  type WhoseRecords,
} from "./registry.ts";
export { type RecordVersion, RegistryError, type RegistryErrorCode } from "./records.ts";
export type { Ranking, SearchAnswer, SearchHit, SearchOptions } from "./search/ranking.ts";
export type { RecordFilter, ShownRecord } from "./shown-record.ts";
export type { RecordSummary, Registration } from "./summary.ts";
