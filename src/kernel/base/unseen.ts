/**
 * Characters that change the order in which a text is read, or that nobody sees: controls, formats, what fonts leave out,
 * such as selectors of variants, which can hold a text of their own, and line and paragraph ends. Not what lays a text out.
 */
const UNSEEN = /[^\P{C}\t\n]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** A text as somebody may be shown it who decides by it: what cannot be seen stands there by its number. */
export function seen(text: string): string {
  return text.replaceAll(UNSEEN, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);
}
