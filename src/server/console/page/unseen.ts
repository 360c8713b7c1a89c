/**
 * Characters that change the order in which a text is read, or that nobody sees: who decides by a text would read
 * something else than what runs. Not what lays a text out.
 */
const UNSEEN = /[^\P{C}\t\n\r]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** A text in which each of them is written as in JSON, so that JSON keeps its meaning. */
export function seen(text: string): string {
  return text.replaceAll(UNSEEN, (sign) =>
    Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}
