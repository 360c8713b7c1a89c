import path from "node:path";

/** The names in imports: paths, and packages. */

export const MODULES = "node_modules";

/** Whether it is a path, relative or absolute. */
export function namesPath(specifier: string): boolean {
  return /^\.{0,2}(?:[/\\]|$)/.test(specifier);
}

/** The npm package of a specifier: `@scope/name` for `@scope/name/file.js`. */
export function packageName(specifier: string): string {
  return /^(?:@[^/]*\/)?[^/]*/.exec(specifier)?.[0] ?? specifier;
}

/** The folders in which a module of a folder finds its packages, nearest first. */
export function packageFolders(root: string): string[] {
  const folders: string[] = [];
  for (let folder = root; ; folder = path.dirname(folder)) {
    folders.push(path.join(folder, MODULES));
    if (path.dirname(folder) === folder) return folders;
  }
}

/** Whether a path is below a folder. */
export function isIn(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return relative !== "" && relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

/** The folder of the package around a path; empty for none. */
export function packageFolder(file: string): string {
  return /^.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+/.exec(file)?.[0] ?? "";
}
