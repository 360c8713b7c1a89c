import type { CapabilityReport } from "./capability.ts";

/** Markdown report of the changes that make a workflow runnable. */
export function remediationReport(name: string, { issues, spec_fingerprint }: CapabilityReport): string {
  const sections = issues.map(
    ({ pointer, reason, remediation }, index) =>
      `## ${index + 1}. ${code(pointer)}\n\n- **Problem:** ${plain(reason)}\n- **What to do:** ${plain(remediation)}\n`,
  );
  const count = issues.length === 1 ? "1 feature is" : `${issues.length} features are`;
  const summary = issues.length === 0 ? "Everything in it is supported." : `${count} not supported.`;
  return [`# Workflow ${plain(name)}\n`, `${summary}\n`, ...sections, `Fingerprint: ${code(spec_fingerprint)}\n`].join(
    "\n",
  );
}

/** Escapes Markdown in a workflow's text. */
function plain(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll(/[\\`*{}[\]<>#|]|\b_|_\b/g, String.raw`\$&`);
}

function code(text: string): string {
  return `\`${text.replaceAll(/[`\s]+/g, " ")}\``;
}
