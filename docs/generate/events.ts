import { type Member, membersOf, readMembers } from "./declarations.ts";
import { code, page, sentence, table } from "./markdown.ts";

export function eventsPage(): string {
  const events = membersOf("EventMap");
  return page("Events", [
    "`engine.on(name, listener)` subscribes to an event, `engine.off(name, listener)` ends that. A listener that throws harms neither the call nor other listeners; it becomes a process warning.",
    ...events.toSorted((a, b) => (a.name < b.name ? -1 : 1)).flatMap(describe),
  ]);
}

function describe({ name, type, doc }: Member): readonly string[] {
  const fields = fieldsOf(type);
  const rows = fields.map((field) => [
    code(field.isOptional ? `${field.name}?` : field.name),
    code(field.type),
    sentence(field.doc),
  ]);
  return [
    `## ${code(name)}`,
    ...(doc === "" ? [] : [sentence(doc)]),
    rows.length === 0 ? "Listeners get nothing." : table(["field", "type", "meaning"], rows),
  ];
}

/** Events whose type depends on the tool: their interface, and its type parameters for a tool of which nothing is known. */
const EACH_TOOL: Readonly<Record<string, readonly [name: string, parameters: Readonly<Record<string, string>>]>> = {
  'EachTool<Tools>["pre"]': ["PreEvent", { Name: "string", "ToolCall<Name, Input>": "ToolCall" }],
  'EachTool<Tools>["post"]': ["CallEvent", { Name: "string", Result: "ToolSuccess" }],
  'EachTool<Tools>["error"]': ["CallEvent", { Name: "string", Result: "ToolFailure" }],
};

/** The fields of an event, from `[event: PreEvent]` or `[event: { readonly name: string }]`. */
function fieldsOf(tuple: string): readonly Member[] {
  const type = /^\[\s*(?:event:\s*([\s\S]*?),?)?\s*\]$/.exec(tuple)?.[1];
  if (type === undefined) return [];
  const each = EACH_TOOL[type];
  if (each !== undefined) {
    const [name, parameters] = each;
    return membersOf(name).map((field) => ({ ...field, type: parameters[field.type] ?? field.type }));
  }
  return (type.startsWith("{") ? readMembers(type) : membersOf(type)).filter(({ name }) => !name.startsWith("#"));
}
