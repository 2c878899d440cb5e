/** Arguments of a prompt template, and the placeholders they fill. */

/** Splits at white space. Quotes group and are removed; there are no escapes; an empty quoted string is no argument. */
export function splitArguments(text: string): string[] {
  const found: string[] = [];
  let current = "";
  let quote = "";
  for (const char of text) {
    if (quote) {
      if (char === quote) quote = "";
      else current += char;
    } else if (char === '"' || char === "'") {
      quote = char;
    } else if (/\s/.test(char)) {
      if (current) found.push(current);
      current = "";
    } else {
      current += char;
    }
  }
  if (current) found.push(current);
  return found;
}

/** `${N:-text}`, `${@:-text}`; `${@:N}`, `${@:N:L}`; `$N`, `$@`, `$ARGUMENTS` */
const placeholder = /\$\{(?:(\d+|@|ARGUMENTS):-([^}]*)|@:(\d+)(?::(\d+))?)\}|\$(\d+|@|ARGUMENTS)/g;

/** Fills a body in one pass: what is inserted is not looked at again. */
export function fillPlaceholders(body: string, args: readonly string[]): string {
  const value = (name: string) => (name === "@" || name === "ARGUMENTS" ? args.join(" ") : (args[Number(name) - 1] ?? ""));
  return body.replace(placeholder, (_, optional?: string, fallback?: string, from?: string, length?: string, plain?: string) => {
    if (plain !== undefined) return value(plain);
    if (optional !== undefined) return value(optional) || (fallback ?? "");
    const start = Math.max(Number(from) - 1, 0);
    return args.slice(start, length === undefined ? undefined : start + Number(length)).join(" ");
  });
}
