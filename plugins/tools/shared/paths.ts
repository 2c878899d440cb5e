/** Paths as models write them. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expandPath, homeDirectory } from "../../shared/paths.ts";

const UNICODE_SPACES = /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g;
const NARROW_NO_BREAK_SPACE = "\u202F";

/** The absolute path meant: special spaces made plain, one leading `@` dropped, `~` and `file://` expanded. */
export function resolvePath(path: string, cwd: string): string {
  const plain = path.replace(UNICODE_SPACES, " ").replace(/^@/, "");
  if (plain.startsWith("file://")) return fileURLToPath(plain);
  return expandPath(plain, cwd, homeDirectory());
}

/** Like `resolvePath`; if nothing is there, also tries the spellings that macOS gives to file names. */
export async function resolveExisting(path: string, cwd: string, exists = isThere): Promise<string> {
  const plain = resolvePath(path, cwd);
  if (await exists(plain)) return plain;
  for (const spelling of spellings(plain)) if (await exists(spelling)) return spelling;
  return plain;
}

function spellings(path: string): string[] {
  const time = path.replace(/ (AM|PM)\b/gi, `${NARROW_NO_BREAK_SPACE}$1`);
  const decomposed = path.normalize("NFD");
  const quoted = path.replaceAll("'", "\u2019");
  const both = decomposed.replaceAll("'", "\u2019");
  return [time, decomposed, quoted, both].filter((spelling) => spelling !== path);
}

/** A look is so quick that sending it to another thread would cost more. */
const isThere = async (path: string): Promise<boolean> => existsSync(path);
