const NAME_MAX = 128;
const NAME = /^[a-z\d][\w.-]*$/i;

/** Whether a text is the name of a project, or of an extra of one (PEP 508). */
export function isProjectName(text: string): boolean {
  return text.length <= NAME_MAX && NAME.test(text) && !/[^a-z\d]$/i.test(text);
}

/** A name as names are compared (PEP 503): `Foo.Bar` is `foo-bar`. */
export function normalizedName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, "-");
}
