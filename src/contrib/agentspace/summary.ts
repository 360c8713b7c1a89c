import type { RegistrationRecord } from "./contract/record.ts";

/** Registrant and times of a record, in ISO 8601. */
export interface Registration {
  /** `operator`, `key:NAME`, or `local` for a service without keys. */
  readonly registered_by: string;
  /** When the first record of this id was registered. */
  readonly created_at: string;
  /** When this record was registered. */
  readonly updated_at: string;
  /** Changes each time the record is written, and is never used again. */
  readonly revision: number;
}

/** A record in a list: of bounded length, however long the record is. */
export interface SummarizedRecord {
  readonly tool_id: string;
  /** The beginning of the description. */
  readonly description: string;
  readonly version?: string;
  readonly tool_tags: readonly string[];
  readonly tool_type?: string;
  readonly tool_sub_type?: string;
  readonly tool_runtime_type: string;
}

/** A record in a list. */
export interface RecordSummary extends SummarizedRecord {
  readonly registration: Registration;
}

/** The searched words of a record. */
export interface SearchedWords {
  readonly name: string;
  readonly described: string;
  readonly tags: string;
  readonly types: string;
  readonly fields: string;
}

const DESCRIPTION_MAX = 500;
/** Maximum characters of each kind of words. */
const WORDS_MAX = 1_000;

export function summaryOf(record: RegistrationRecord): SummarizedRecord {
  const { tool_metadata: metadata, tool_type: type, tool_sub_type: subType } = record;
  const description = record.tool_search_description ?? metadata?.description ?? "";
  return {
    tool_id: record.tool_id,
    description: description.slice(0, DESCRIPTION_MAX),
    ...(metadata?.version === undefined ? {} : { version: metadata.version }),
    tool_tags: record.tool_tags ?? [],
    ...(type === undefined ? {} : { tool_type: type }),
    ...(subType === undefined ? {} : { tool_sub_type: subType }),
    tool_runtime_type: record.tool_runtime_type,
  };
}

export function wordsOf(record: RegistrationRecord): SearchedWords {
  const { tool_id: name, tool_metadata: metadata, tools_api_spec: spec } = record;
  const fields = [...Object.entries(spec.input), ...Object.entries(spec.output)];
  const cut = (text: string): string => text.slice(0, WORDS_MAX);
  return {
    name,
    described: cut(`${record.tool_search_description ?? ""} ${metadata?.description ?? ""}`),
    tags: cut(record.tool_tags?.join(" ") ?? ""),
    types: `${record.tool_type ?? ""} ${record.tool_sub_type ?? ""}`,
    fields: cut(fields.map(([field, { description = "" }]) => `${field} ${description}`).join(" ")),
  };
}
