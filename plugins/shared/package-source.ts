/** Where a package comes from, as people write it: `npm:name@1.2.3`, `git:host/owner/repo@ref`, a URL, or a path. */

export type PackageSource =
  | { kind: "npm"; name: string /** version, range or tag */; wanted?: string; isPinned: boolean; identity: string }
  | { kind: "git"; url: string; host: string; path: string; ref?: string; identity: string }
  | { kind: "local"; path: string };

/** Throws a sentence if the source cannot be meant. */
export function parsePackageSource(source: string): PackageSource {
  if (source.startsWith("npm:")) return npmSource(source);
  if (source.startsWith("github:")) return gitSource(source, `https://github.com/${source.slice(7)}`);
  if (source.startsWith("git://")) return gitSource(source, source);
  if (source.startsWith("git:")) return gitSource(source, source.slice(4));
  if (/^(https?|ssh):\/\//.test(source)) return gitSource(source, source);
  return { kind: "local", path: source };
}

/** Whether it has to be fetched from somewhere. */
export function isRemoteSource(source: string): boolean {
  return /^(npm:|git:|github:|https?:\/\/|ssh:\/\/)/.test(source);
}

const exactVersion = /^v?\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/;

function npmSource(source: string): PackageSource {
  // A leading hyphen would be an option to npm, a dot a path.
  const found = /^npm:((?:@[a-z0-9~_][\w.~-]*\/)?[a-z0-9~_][\w.~-]*)(?:@(file:.+|[^\s]+))?$/i.exec(source);
  if (!found) throw new Error(`"${source}" is no npm package (expected npm:NAME or npm:NAME@VERSION)`);
  const [, name = "", wanted] = found;
  return { kind: "npm", name, wanted, isPinned: wanted !== undefined && exactVersion.test(wanted), identity: `npm:${name}` };
}

/** `HOST/PATH`, `USER@HOST:PATH` or a URL; an `@` in the path begins the ref. */
function gitSource(source: string, place: string): PackageSource {
  const url = /^([a-z+]+:\/\/(?:[^@/]+@)?)([^/]*)\/([^@]+)(?:@(.+))?$/i.exec(place);
  const scp = /^([\w.-]+@)([\w.-]+):([^@]+)(?:@(.+))?$/.exec(place);
  const plain = /^()([\w.-]+(?::\d+)?)\/([^@]+)(?:@(.+))?$/.exec(place);
  const [, before = "", host = "", rawPath = "", ref] = url ?? scp ?? plain ?? [];
  const path = rawPath.replace(/\/+$/, "").replace(/\.git$/, "");
  const isSafe = path !== "" && path.split("/").every((segment) => !["", ".", ".."].includes(segment)) && !host.startsWith(".");
  const isPlace = host !== "" || before.startsWith("file:");
  if (!isSafe || !isPlace || place.startsWith("-") || ref?.startsWith("-")) {
    throw new Error(`"${source}" is no git repository (expected git:HOST/OWNER/REPO, optionally with @REF)`);
  }
  const clone = url ? `${before}${host}/${rawPath}` : scp ? `${before}${host}:${rawPath}` : `https://${host}/${rawPath}`;
  const where = host || "localhost";
  return { kind: "git", url: clone, host: where, path, ...(ref && { ref }), identity: `git:${where}/${path}` };
}
