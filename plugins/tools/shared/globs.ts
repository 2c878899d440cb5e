/** Glob patterns with the meaning that ripgrep and fd give them. */

type Matcher = (path: string) => boolean;

/** Throws for a pattern whose brackets do not close: the library would take it literally, and nobody would know why nothing is found. */
export function checkGlob(pattern: string): void {
  let open: "[" | "{" | undefined;
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at];
    if (character === "\\") {
      if (++at >= pattern.length) throw new Error(`error parsing glob '${pattern}': dangling '\\'`);
    } else if (open === "[") {
      if (character === "]") open = undefined;
    } else if (character === "[") {
      open = "[";
      // A bracket that comes first is meant literally.
      if (pattern[at + 1] === "!" || pattern[at + 1] === "^") at++;
      if (pattern[at + 1] === "]") at++;
    } else if (character === "{") open = "{";
    else if (character === "}") {
      if (open !== "{") throw new Error(`error parsing glob '${pattern}': unopened alternate group; missing '{'`);
      open = undefined;
    }
  }
  if (open === "[") throw new Error(`error parsing glob '${pattern}': unclosed character class; missing ']'`);
  if (open === "{") throw new Error(`error parsing glob '${pattern}': unclosed alternate group; missing '}'`);
}

async function compile(pattern: string, nocase = false): Promise<Matcher> {
  checkGlob(pattern);
  const { default: picomatch } = await import("picomatch");
  return picomatch(pattern, { dot: true, nocase, noext: true, nonegate: true, strictSlashes: true });
}

/** A pattern for `grep`: without a slash it is about names, else about the path from the root; `!` turns it round. */
export async function fileFilter(glob: string): Promise<{ matches: Matcher; excludes: boolean }> {
  const excludes = glob.startsWith("!");
  const pattern = excludes ? glob.slice(1) : glob;
  const isAnchored = pattern.replace(/\/$/, "").includes("/");
  const matches = await compile(isAnchored ? pattern.replace(/^\//, "") : `**/${pattern}`);
  return { matches, excludes };
}

/** A pattern for `find`: without a slash it is about names, else about the whole path. All lower case means either case. */
export async function pathFilter(pattern: string, root: string): Promise<Matcher> {
  const nocase = pattern === pattern.toLowerCase();
  if (!pattern.includes("/")) {
    const matches = await compile(pattern, nocase);
    return (path) => matches(path.slice(path.lastIndexOf("/") + 1));
  }
  const matches = await compile(fullPathPattern(pattern), nocase);
  return (path) => matches(`${root === "/" ? "" : root}/${path}`);
}

export function fullPathPattern(pattern: string): string {
  return pattern.startsWith("/") || pattern.startsWith("**/") ? pattern : `**/${pattern}`;
}
