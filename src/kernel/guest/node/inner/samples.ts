/** What a function throws: only that leads to classes of errors that a package keeps for itself. */
export function thrown(fail: () => unknown): unknown {
  try {
    return fail();
  } catch (error) {
    return error;
  }
}
