/** What can be said of a package's binary without running it is tested: how it is packed, and that it is refused. */
const waits = (what: string): string =>
  `a package with a binary is refused with a typed error (\`the runtime native is not available in this build\`); ${what}`;

/** Rows that wait for something, and for what. */
export const WAITING: ReadonlyMap<string, string> = new Map([
  ["C73", waits("there is no call of one to time, and no process group to end")],
  ["C75", waits("nothing is started, so the system has no say about its format yet")],
  ["C76", waits("no process is started, so there is neither environment nor folder to keep from it")],
]);
