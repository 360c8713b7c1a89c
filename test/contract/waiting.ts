/** What of a package's binary can be said without running it is tested; this is about running it. */
const BINARIES = "binaries are found and refused (`runtime native is not available`), not run yet";

/** Rows that wait for something, and for what. */
export const WAITING: ReadonlyMap<string, string> = new Map(
  ["C64", "C65", "C66", "C67", "C68", "C69", "C70", "C71", "C72", "C73", "C74", "C75", "C76"].map((row) => [
    row,
    BINARIES,
  ]),
);
