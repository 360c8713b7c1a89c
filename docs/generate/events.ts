import { type Member, membersOf, readMembers } from "./declarations.ts";
import { code, page, sentence, table } from "./markdown.ts";

export function eventsPage(): string {
  const events = [...membersOf("EventMap"), ...membersOf("ExecutorEvents")];
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

/** The fields of an event, from `[event: PreEvent]` or `[event: { readonly name: string }]`. */
function fieldsOf(tuple: string): readonly Member[] {
  const type = /^\[\s*(?:event:\s*([\s\S]*?),?)?\s*\]$/.exec(tuple)?.[1];
  if (type === undefined) return [];
  return (type.startsWith("{") ? readMembers(type) : membersOf(type)).filter(({ name }) => !name.startsWith("#"));
}
