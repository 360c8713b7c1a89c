/** Phrases that need a second reading, and must not come back into any text. */
export const DENIED: readonly RegExp[] = [
  /\bhow manieth\b/i,
  /\b(?:is|are) none\b/i,
  /\bin vain\b/i,
  /\bwhose word\b/i,
  /\bof whom\b/i,
  // A sentence begins with its noun, and not with a relative clause.
  /(?:^|[.!?] |\| |- )Whose\b(?![^.!?|]*\?)/m,
  /(?:^|[.!?] |\| |- )What (?:is|was|are|were) (?:kept|made|given|lost|sent|said|asked)\b(?![^.!?|]*\?)/m,
];
