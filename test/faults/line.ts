/** The text of a line of a log that is JSON; any other line as it is. */
export function textOf(line: string): string {
  if (!line.startsWith("{")) return line;
  const fields: unknown = JSON.parse(line);
  if (typeof fields !== "object" || fields === null || !("msg" in fields) || typeof fields.msg !== "string")
    return line;
  return fields.msg + causeOf(fields);
}

/** What some lines name beside their text. */
function causeOf(fields: object): string {
  if ("cause" in fields && typeof fields.cause === "string") return `: ${fields.cause}`;
  return "reason" in fields && typeof fields.reason === "string" ? ` (${fields.reason})` : "";
}
