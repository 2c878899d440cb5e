/** Markdown files that begin with YAML between `---` lines. */

export interface Frontmatter {
  attributes: Record<string, unknown>;
  /** what follows, trimmed */
  body: string;
}

/** Splits a file; throws one sentence if the YAML is broken. */
export async function parseFrontmatter(text: string): Promise<Frontmatter> {
  const { yaml, body } = splitFrontmatter(text);
  if (yaml === undefined) return { attributes: {}, body };
  const attributes = plainAttributes(yaml) ?? (await parseYaml(yaml));
  return { attributes: isMapping(attributes) ? attributes : {}, body };
}

async function parseYaml(yaml: string): Promise<unknown> {
  // The default export: a bundle has no other of a CommonJS package.
  const parser = (await import("yaml")).default;
  try {
    // The line of dashes counts: complaints name lines of the file.
    return parser.parse(`\n${yaml}`);
  } catch (error) {
    // A picture of the place follows on lines of its own.
    throw new Error((error as Error).message.split("\n", 1)[0]?.replace(/:$/, ""), { cause: error });
  }
}

/** The body alone, without looking at the YAML. */
export function splitFrontmatter(text: string): { yaml?: string; body: string } {
  const normal = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const found = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/.exec(normal);
  if (!found) return { body: normal.trim() };
  return { yaml: found[1] ?? "", body: normal.slice(found[0].length).trim() };
}

/** Most files hold only `key: some words`, which means the same with and without a YAML parser; reading that one takes time at every start. */
function plainAttributes(yaml: string): Record<string, unknown> | undefined {
  const attributes: Record<string, unknown> = {};
  for (const line of yaml.split("\n")) {
    const found = /^([A-Za-z][\w-]*): +([A-Za-z][\w ,.()/'-]*)$/.exec(line);
    if (!found || Object.hasOwn(attributes, found[1]!) || /^(true|false|null|yes|no|on|off|y|n)$/i.test(found[2]!.trim())) return undefined;
    attributes[found[1]!] = found[2]!.trim();
  }
  return attributes;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
