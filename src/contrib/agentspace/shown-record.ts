import { matchesName } from "../../kernel/base/name-patterns.ts";
import type { RegistrationRecord } from "./contract/record.ts";

/**
 * Public view of a record: only the names in `tool_data`, which may contain keys, and the code's URL without its query,
 * which may contain signatures.
 */
export interface ShownRecord extends Omit<RegistrationRecord, "tool_data"> {
  readonly tool_data_names: readonly string[];
}

/** Selects the records that have all named properties. */
export interface RecordFilter {
  readonly tags?: readonly string[];
  readonly type?: string;
  readonly subType?: string;
  /** Ids, each of which may end in `*`. */
  readonly ids?: readonly string[];
}

export function shownRecord({ record }: { readonly record: RegistrationRecord }): ShownRecord {
  const { tool_data: data, ...rest } = record;
  return { ...rest, tool_source_code_link: shownLink(record), tool_data_names: Object.keys(data) };
}

export function matches(
  record: Pick<RegistrationRecord, "tool_id" | "tool_tags" | "tool_type" | "tool_sub_type">,
  filter: RecordFilter,
): boolean {
  const { tags = [], type, subType, ids } = filter;
  if (ids?.some((pattern) => matchesName(pattern, record.tool_id)) === false) return false;
  if (type !== undefined && record.tool_type !== type) return false;
  if (subType !== undefined && record.tool_sub_type !== subType) return false;
  return tags.every((tag) => record.tool_tags?.includes(tag) ?? false);
}

function shownLink({ tool_source_code_link: link }: RegistrationRecord): string {
  const url = URL.parse(link);
  return url === null || (url.search === "" && url.hash === "") ? link : `${url.origin}${url.pathname}`;
}
