/** Names that need the other program's inside: they exist, so that modules load, and say what is missing when they are used. */

export type AnyClass = new (...args: any[]) => any;

/** A class that can be extended and patched, but not made. */
export function unavailable(name: string): AnyClass {
  return {
    [name]: class {
      constructor() {
        throw new Error(`${name} is not available without the terminal program it belongs to.`);
      }
    },
  }[name] as AnyClass;
}
