import type { Fields, FieldSpec } from "./contract/spec.ts";
import type { ShownRecord } from "./shown-record.ts";

/** Characters that Markdown or HTML interprets. */
const SPECIAL = /[\\`*_{}[\]()#+!|<>&~-]/g;

/** Manual page of a tool in Markdown, written from its record: purpose, input, output and settings. */
export function writeManPage(record: ShownRecord): string {
  const { tools_api_spec: spec, tool_metadata: metadata = {}, tool_man_page_doc_link: link } = record;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["Version", metadata.version],
    ["Author", metadata.author],
    ["License", metadata.license],
    ["Type", [record.tool_type, record.tool_sub_type].filter((one) => one !== undefined).join(", ") || undefined],
    ["Tags", record.tool_tags?.join(", ")],
    ["Runtime", record.tool_runtime_type],
    ["Configured by", record.tool_data_names.join(", ") || undefined],
  ];
  const known = facts.flatMap(([name, value]) => (value === undefined ? [] : [`- ${name}: ${escapeMarkdown(value)}`]));
  const sections = [
    `# ${escapeMarkdown(record.tool_id)}`,
    escapeMarkdown(metadata.description ?? record.tool_search_description ?? ""),
    known.join("\n"),
    section("Input", spec.input),
    section("Output", spec.output),
    spec.management === undefined ? "" : section("Management", spec.management),
    // A serialized URL contains no spaces or angle brackets.
    link === undefined ? "" : `More: <${new URL(link).href.replace(/[<>\s]/g, encodeURIComponent)}>`,
  ];
  return `${sections.filter((text) => text !== "").join("\n\n")}\n`;
}

function section(title: string, fields: Fields): string {
  const rows = rowsOf(fields, "");
  if (rows.length === 0) return `## ${title}\n\nAnything: no fields are named.`;
  return [`## ${title}`, "", "| field | type | required | description |", "| --- | --- | --- | --- |", ...rows].join(
    "\n",
  );
}

/** Rows for each field and its nested fields: `address.city`, `lines[].text`. */
function rowsOf(fields: Fields, path: string): readonly string[] {
  return Object.entries(fields).flatMap(([name, field]) => rowsOfField(path === "" ? name : `${path}.${name}`, field));
}

function rowsOfField(path: string, field: FieldSpec): readonly string[] {
  const cells = [path, typeOf(field), field.required === true ? "yes" : "no", describe(field)];
  const row = `| ${cells.map(escapeMarkdown).join(" | ")} |`;
  const items = field.items?.properties === undefined ? [] : rowsOf(field.items.properties, `${path}[]`);
  return [row, ...items, ...rowsOf(field.properties ?? {}, path)];
}

function typeOf({ type, items }: FieldSpec): string {
  return items === undefined ? type : `${type} of ${typeOf(items)}`;
}

function describe({ description, min, max, default: preset, enum: choices }: FieldSpec): string {
  const notes = [
    ...(min === undefined ? [] : [`at least ${min}`]),
    ...(max === undefined ? [] : [`at most ${max}`]),
    ...(choices === undefined ? [] : [`one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`]),
    ...(preset === undefined ? [] : [`default ${JSON.stringify(preset)}`]),
  ];
  const said = description ?? "";
  return notes.length === 0 ? said : `${said === "" ? "" : `${said}; `}${notes.join(", ")}`;
}

/** Escapes text so that it forms no link, markup or line break. */
function escapeMarkdown(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim().replaceAll(SPECIAL, "\\$&");
}
