/** Where requests go and with which headers, as a provider's SDK has it. */

export interface Target {
  url: string;
  headers: Record<string, string>;
}

/** Whether a header of this name may hold a secret. */
export const isCredential = (header: string) => /auth|key|token|secret|cookie/i.test(header);

/** Addresses of one agent are few; whoever changes headers with every request has the SDK asked each time. */
const MOST = 16;
const known = new Map<string, Target>();

/**
 * Has an SDK send a request with `post` and takes what it would send; the body is ours. It is asked once for each address, all of which
 * `key` names: making headers takes it longer than a small request takes in all.
 */
export async function targetOf(key: string, post: (fetch: typeof globalThis.fetch) => Promise<unknown>): Promise<Target> {
  let target = known.get(key);
  if (target) return target;
  await post(async (url, init) => {
    target = { url: String(url), headers: Object.fromEntries(new Headers(init?.headers)) };
    return new Response(null, { status: 200 });
  });
  if (!target) throw new Error("The provider's SDK sent no request.");
  if (known.size >= MOST) known.clear();
  known.set(key, target);
  return target;
}
