/** Frontmatter for extensions: at once, and with every field that is there. */
import { parse as parseYaml } from "yaml";
import { splitFrontmatter } from "../../shared/frontmatter.ts";

export function parseFrontmatter(text: string): { frontmatter: Record<string, unknown>; body: string } {
  const { yaml, body } = splitFrontmatter(text);
  const frontmatter: unknown = yaml === undefined ? {} : parseYaml(yaml);
  return { frontmatter: typeof frontmatter === "object" && frontmatter !== null ? (frontmatter as Record<string, unknown>) : {}, body };
}
