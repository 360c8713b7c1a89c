const TITLE = /(["'`])((?:\\.|(?!\1|\n|\\).)*)\1/g;
/** What stands before a title: `test(`, `test.each(…)(`. So neither comments, groups nor expectations are tests. */
const OF_A_TEST = /(?:^|[^.\w])test\(\s*$|[)`]\(\s*$/;
const OF_A_GROUP = /^describe\("([^"\n]+)"/gm;
const BEFORE_MAX = 200;
const LEFT_OUT = /\btest\.(?:skip|todo|fails)\b[^;]*$/;

/** The titles of the tests in a file's text, as they are written there, without those that are left out. */
export function titlesIn(text: string): string[] {
  return [...text.matchAll(TITLE)].flatMap(({ index, 2: title = "" }) => {
    const before = text.slice(Math.max(0, index - BEFORE_MAX), index);
    const isLeftOut = LEFT_OUT.test(before.slice(before.lastIndexOf("\n") + 1));
    return OF_A_TEST.test(before) && !isLeftOut ? [title] : [];
  });
}

/** The titles of the outermost groups of tests. */
export function groupsIn(text: string): string[] {
  return [...text.matchAll(OF_A_GROUP)].map(([, title = ""]) => title);
}
