/**
 * Test files whose tests may need a second try on a machine that stands still for seconds: they hold real processes,
 * networks and clocks against deadlines. A second try anywhere else fails CI, because it hides a defect.
 */
const KNOWN: readonly RegExp[] = [/\.(?:attack|browser|conformance|fleet|slow|system)\.test\.ts$/];

export function isKnownRetry(file: string): boolean {
  return KNOWN.some((pattern) => pattern.test(file));
}
