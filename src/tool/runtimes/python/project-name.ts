const NAME_MAX = 128;
const NAME = /^[a-z\d][\w.-]*$/i;

/** Whether a text is a valid name of a project or an extra (PEP 508). */
export function isProjectName(text: string): boolean {
  return text.length <= NAME_MAX && NAME.test(text) && !/[^a-z\d]$/i.test(text);
}

/** The normalized name (PEP 503): `Foo.Bar` becomes `foo-bar`. */
export function normalizedName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, "-");
}
