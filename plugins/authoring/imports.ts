/** Names that an extension takes from the API's modules although they are not there: at run time they are undefined. */
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { compile } from "../shared/compiler.ts";
import { nearest } from "../shared/nearest.ts";
import type { Problem } from "./report.ts";

type ExportsOf = (specifier: string) => Promise<readonly string[] | undefined>;

/** Looks at the entry and its own files as they are after compilation, where imports of types are gone. */
export async function unknownImports(entry: string, exportsOf: ExportsOf): Promise<Problem[]> {
  const problems: Problem[] = [];
  const waiting = [entry];
  const seen = new Set<string>();
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (seen.has(file) || !/\.[cm]?[jt]sx?$/.test(file)) continue;
    seen.add(file);
    const code = compiled(file);
    for (const { name, specifier } of importsOf(code)) {
      if (specifier.startsWith(".")) waiting.push(...resolved(file, specifier));
      const exported = await exportsOf(specifier);
      if (!exported) continue;
      for (const member of membersOf(code, name)) {
        if (exported.includes(member)) continue;
        const meant = nearest(member, exported);
        const message = `${file}: "${specifier}" has no "${member}"${meant ? `; did you mean "${meant}"?` : "."}`;
        problems.push({ level: "error", kind: "import", message });
      }
    }
  }
  return problems;
}

function compiled(file: string): string {
  const source = readFileSync(file, "utf8");
  // What does not compile was reported when it was loaded.
  return compile({ source, filename: file, ts: /\.[cm]?tsx?$/.test(file), async: true, interopDefault: true, babel: {} }).code ?? "";
}

function* importsOf(code: string): Generator<{ name: string; specifier: string }> {
  for (const [, name = "", specifier = ""] of code.matchAll(/\b(?:var|const|let) (\w+) = (?:\w+\()?(?:await jitiImport|require)\("([^"]+)"\)/g)) {
    yield { name, specifier };
  }
}

function membersOf(code: string, name: string): Set<string> {
  const members = [...code.matchAll(new RegExp(`(?<![\\w$.])${name}\\.([A-Za-z_$][\\w$]*)`, "g"))].map(([, member]) => member as string);
  return new Set(members.filter((member) => member !== "default" && member !== "__esModule"));
}

function resolved(from: string, specifier: string): string[] {
  const base = resolve(dirname(from), specifier);
  const candidates = [base, base.replace(/\.js$/, ".ts"), `${base}.ts`, `${base}.js`, `${base}/index.ts`, `${base}/index.js`];
  const found = candidates.find((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
  return found ? [found] : [];
}
