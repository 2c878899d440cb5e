/** What the command line hands to one-shot modes. */
declare module "../../core/index.ts" {
  interface Options {
    /** positional words */
    prompts?: string[];
    /** `@file` arguments without the sign */
    files?: string[];
    print?: boolean;
  }
}

export {};
