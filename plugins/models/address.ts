/** Credentials that people put into an address. They go to the server, and into nothing that shows a model. */

const telling = /key|token|secret|password|signature|^(auth|sig|code)$/i;

/** The address as anybody may see it. */
export function publicAddress(address: string): string {
  const url = partsOf(address);
  if (!url) return address;
  const names = secretNames(url);
  if (!url.username && !url.password && names.length === 0) return address;
  url.username = "";
  url.password = "";
  for (const name of names) url.searchParams.delete(name);
  return url.href.replace(/\/$/, address.endsWith("/") ? "/" : "");
}

/** What of it must not be seen, in every spelling in which a server might repeat it. */
export function secretsIn(address: string): string[] {
  const url = partsOf(address);
  if (!url) return [];
  const { username, password } = url;
  const [user, word] = [username, password].map(plain) as [string, string];
  const login = username ? [Buffer.from(`${user}:${word}`).toString("base64")] : [];
  return [...login, user, word, ...secretNames(url).flatMap((name) => url.searchParams.getAll(name))];
}

/** Nearly no address has anything to hide. */
function partsOf(address: string): URL | undefined {
  return /[@?]/.test(address) && URL.canParse(address) ? new URL(address) : undefined;
}

function secretNames({ searchParams }: URL): string[] {
  return [...searchParams.keys()].filter((name) => telling.test(name));
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
