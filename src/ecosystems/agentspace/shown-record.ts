import type { RegistrationRecord } from "../../tool/contracts/agentspace-record.ts";
import type { KeptRecord } from "./records.ts";

/**
 * A record as everybody may see it: of `tool_data`, which may hold keys, only the names, and of the address of its code
 * nothing that follows `?`, where signatures are.
 */
export interface ShownRecord extends Omit<RegistrationRecord, "tool_data"> {
  readonly tool_data_names: readonly string[];
}

/** Which records are meant: those that have all that is named. */
export interface RecordFilter {
  readonly tags?: readonly string[];
  readonly type?: string;
  readonly subType?: string;
}

export function shownRecord({ record }: Pick<KeptRecord, "record">): ShownRecord {
  const { tool_data: data, ...rest } = record;
  return { ...rest, tool_source_code_link: shownLink(record), tool_data_names: Object.keys(data) };
}

export function matches(record: Omit<RegistrationRecord, "tool_data">, filter: RecordFilter): boolean {
  const { tags = [], type, subType } = filter;
  if (type !== undefined && record.tool_type !== type) return false;
  if (subType !== undefined && record.tool_sub_type !== subType) return false;
  return tags.every((tag) => record.tool_tags?.includes(tag) ?? false);
}

function shownLink({ tool_source_code_link: link }: RegistrationRecord): string {
  const url = URL.parse(link);
  return url === null || (url.search === "" && url.hash === "") ? link : `${url.origin}${url.pathname}`;
}
