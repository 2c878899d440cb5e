/** What the program calls itself. The build replaces the version. */
import type { Branding } from "../plugins/settings/contract.ts";

declare const PI_VERSION: string | undefined;

export const branding: Branding = {
  name: "pi",
  version: typeof PI_VERSION === "string" ? PI_VERSION : "0.0.0-source",
  configDir: ".pi",
  envPrefix: "PI",
};
