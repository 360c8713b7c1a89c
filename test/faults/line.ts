/** The text of a line of a log that is JSON; any other line as it is. */
export function textOf(line: string): string {
  if (!line.startsWith("{")) return line;
  const fields: unknown = JSON.parse(line);
  if (typeof fields !== "object" || fields === null || !("msg" in fields) || typeof fields.msg !== "string")
    return line;
  const [text = ""] = fields.msg.split("\n");
  const cause = causeOf(fields);
  return text.includes(cause) ? text : `${text} (${cause})`;
}

/** What some lines name beside their text, in its first line. */
function causeOf(fields: object): string {
  const cause = "cause" in fields ? fields.cause : "reason" in fields ? fields.reason : "";
  return typeof cause === "string" ? (cause.split("\n")[0] ?? "") : "";
}
