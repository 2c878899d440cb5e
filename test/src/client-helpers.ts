/** Clients of the real program. */
import { onTestFinished } from "vitest";
import { RpcClient, type RpcClientOptions } from "../../src/client/index.ts";
import { type PiOptions, type Places, preparePlaces, programPath } from "../helpers/pi.ts";

export const command = [process.execPath, programPath];

/** Options for a client whose agent sees nothing of this machine. */
export function optionsFor({ cwd, env, args }: Places): RpcClientOptions {
  const hidden = Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]));
  return { command, args, cwd, env: { ...hidden, ...env } };
}

/** A started client; it is gone with the test. */
export async function startClient(pi: PiOptions = {}, options: RpcClientOptions = {}): Promise<RpcClient & { places: Places }> {
  const places = preparePlaces(pi);
  const client = new RpcClient({ ...optionsFor(places), ...options });
  onTestFinished(async () => void (await client.stop({ timeoutMs: 5000 })));
  await client.start();
  return Object.assign(client, { places });
}
