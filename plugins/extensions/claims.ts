/** What extensions keep on globalThis to know that one of them is at work: until it is given back, another factory stands aside. */

/** Does `work`; true: something that stood on globalThis before is gone since. */
export async function givesBack(work: () => Promise<void>): Promise<boolean> {
  const claimed = Reflect.ownKeys(globalThis).filter(isClaimed);
  await work();
  return !claimed.every(isClaimed);
}

/** Getters are the platform's own, and some complain when they are read. */
function isClaimed(name: PropertyKey): boolean {
  return Boolean(Reflect.getOwnPropertyDescriptor(globalThis, name)?.value);
}
