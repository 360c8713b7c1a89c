/** What can be said of a package's binary without running it is tested: how it is packed, and that it is refused. */
const waits = (what: string): string =>
  `a package with a binary is refused with a typed error (\`the runtime native is not available in this build\`); ${what}`;

/** Rows that wait for something, and for what. */
export const WAITING: ReadonlyMap<string, string> = new Map([
  ["C64", waits("it is extracted where all packages are, but nothing is made executable, as nothing is started")],
  ["C65", waits("no process is started, so there is no first argument")],
  ["C66", waits("no process is started, so there is no output file to name and to read")],
  ["C67", waits("there is no output file whose JSON could be wrong")],
  ["C68", waits("there is no output file that could be missing, and no stdout or stderr to tell instead")],
  ["C69", waits("no process ends, so none ends with an exit code")],
  ["C70", waits("there is nothing yet on stdout, stderr or in an output file to look at")],
  ["C71", waits("the guide's binary is compiled from Go, and its record is read and refused until binaries run")],
  ["C72", waits("no argument is handed to the system, so none can be too long for it")],
  ["C73", waits("there is no call of one to time, and no process group to end")],
  ["C74", waits("there is no binary tool whose commands could be answered, and nothing is started for one")],
  ["C75", waits("nothing is started, so the system has no say about its format yet")],
  ["C76", waits("no process is started, so there is neither environment nor folder to keep from it")],
]);
