/** Whether an installed version is what was asked for: npm's ranges, without npm. */

type Version = { numbers: [number, number, number]; pre: string };

/** Tags such as `next` are satisfied by whatever was installed for them. */
export function satisfies(installed: string, wanted: string | undefined): boolean {
  if (wanted === undefined || wanted.trim() === "" || wanted === "latest") return true;
  const version = parse(installed);
  if (!version) return installed === wanted;
  const alternatives = wanted.split("||").map((part) => comparators(part.trim()));
  if (alternatives.some((tests) => tests === undefined)) return true;
  return alternatives.some((tests) => tests!.every((test) => test(version)));
}

function parse(text: string): Version | undefined {
  const found = /^[v=\s]*(\d+)\.(\d+)\.(\d+)(?:-([\w.-]+))?(?:\+[\w.-]+)?$/.exec(text.trim());
  return found ? { numbers: [Number(found[1]), Number(found[2]), Number(found[3])], pre: found[4] ?? "" } : undefined;
}

function compare(a: Version, b: Version): number {
  for (const index of [0, 1, 2] as const) if (a.numbers[index] !== b.numbers[index]) return a.numbers[index] - b.numbers[index];
  if (a.pre === b.pre) return 0;
  if (!a.pre || !b.pre) return a.pre ? -1 : 1;
  return a.pre.localeCompare(b.pre, "en", { numeric: true });
}

type Test = (version: Version) => boolean;

/** undefined: no range at all */
function comparators(range: string): Test[] | undefined {
  const hyphen = /^(\S+)\s+-\s+(\S+)$/.exec(range);
  const words = hyphen ? [`>=${hyphen[1]}`, `<=${hyphen[2]}`] : range.replace(/([<>=~^]+)\s+/g, "$1").split(/\s+/);
  const tests: Test[] = [];
  for (const word of words) {
    const found = /^(\^|~>?|>=|<=|>|<|=)?v?(\d+|[xX*])(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?(?:-([\w.-]+))?(?:\+[\w.-]+)?$/.exec(word);
    if (!found) return undefined;
    const [, sign = "", ...rest] = found;
    const numbers = rest.slice(0, 3).map((part) => (part === undefined || /[xX*]/.test(part) ? undefined : Number(part)));
    tests.push(...between(sign, numbers, rest[3] ?? ""));
  }
  return tests;
}

function between(sign: string, [major, minor, patch]: (number | undefined)[], pre: string): Test[] {
  const version = (a: number, b: number, c: number, suffix = ""): Version => ({ numbers: [a, b, c], pre: suffix });
  if (major === undefined) return [];
  const low = version(major, minor ?? 0, patch ?? 0, pre);
  const atLeast: Test = (given) => compare(given, low) >= 0;
  // The bound itself and its pre-releases are outside.
  const below =
    (bound: Version): Test =>
    (given) =>
      compare(given, { ...bound, pre: "0" }) < 0;
  const nextMajor = version(major + 1, 0, 0);
  const nextMinor = version(major, (minor ?? 0) + 1, 0);
  const end = minor === undefined ? nextMajor : patch === undefined ? nextMinor : undefined;
  if (sign === "^") {
    if (major > 0 || minor === undefined) return [atLeast, below(nextMajor)];
    return [atLeast, below(minor > 0 || patch === undefined ? nextMinor : version(0, 0, patch + 1))];
  }
  if (sign.startsWith("~")) return [atLeast, below(minor === undefined ? nextMajor : nextMinor)];
  if (sign === ">=") return [atLeast];
  if (sign === "<") return [(given) => compare(given, low) < 0];
  if (sign === ">") return end ? [(given) => compare(given, end) >= 0] : [(given) => compare(given, low) > 0];
  if (sign === "<=") return end ? [below(end)] : [(given) => compare(given, low) <= 0];
  return end ? [atLeast, below(end)] : [(given) => compare(given, low) === 0];
}
