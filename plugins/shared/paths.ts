/** Paths as people write them: `~`, `file://` URLs, relative to some base. */
import { homedir, userInfo } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The absolute path meant by `path`. A `file:` URL that names no local file is taken as it stands. */
export function expandPath(path: string, base: string, home: string): string {
  if (path === "~") return home;
  if (path.startsWith("~/")) return join(home, path.slice(2));
  if (path.startsWith("file://")) {
    try {
      return fileURLToPath(path);
    } catch {
      return resolve(base, path);
    }
  }
  return isAbsolute(path) ? resolve(path) : resolve(base, path);
}

/** The user's home; `/` for one who has none, as in a container that runs under a number nobody knows. */
export function homeDirectory(given?: string): string {
  for (const ask of [() => given, () => homedir(), () => userInfo().homedir]) {
    try {
      const home = ask();
      if (home && isAbsolute(home)) return home;
    } catch {
      // Node throws where the system knows no such user.
    }
  }
  return "/";
}
