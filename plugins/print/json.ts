/** JSON mode: the session's header, then its events as JSON lines, until the prompts are done. */
import { Type } from "typebox";
import { definePlugin, type Io, messageOf, type PluginKernel, Stage } from "../../core/index.ts";
import type {} from "../session/contract.ts";
import { chosenDialect, chosenUpdates } from "../shared/frames/choice.ts";
import { EventFrames } from "../shared/frames/events.ts";
import { recordFrame } from "../shared/frames/serialize.ts";
import { FrameWriter } from "../shared/frames/writer.ts";
import { eventSchema } from "../shared/schemas.ts";
import { collectPrompts, runPrompt } from "./prompts.ts";
import { watchReader } from "./reader.ts";

export const jsonTransport = definePlugin({
  name: "transport:json",
  apply(kernel) {
    kernel.registry("transports").add({ name: "json", mode: "json", serve: (io) => serve(kernel, io) });
    kernel.registry("events").add({ name: "session", schema: headerSchema });
  },
});

/** The first record. */
const headerSchema = () =>
  eventSchema("session", {
    version: Type.Integer(),
    id: Type.String(),
    timestamp: Type.String(),
    cwd: Type.String(),
    parentSession: Type.Optional(Type.String()),
  });

async function serve(kernel: PluginKernel, io: Io): Promise<number> {
  const dialect = chosenDialect(kernel);
  const updates = chosenUpdates(kernel);
  const prompts = await collectPrompts(kernel, io);
  // A reader that is gone ends the run; what is left to say is discarded.
  let isGone = false;
  let failure: NodeJS.ErrnoException | undefined;
  const onGone = (error?: NodeJS.ErrnoException) => {
    isGone = true;
    // A reader that went away has read what it wanted.
    if (error?.code !== "EPIPE") failure = error;
    void kernel.run.abort();
  };
  const writer = new FrameWriter({ onGone });
  writer.attach(io);
  const frames = new EventFrames(
    () => dialect,
    () => updates,
  );
  const session = kernel.tryService("session");
  if (session) writer.write(recordFrame(session.header()));
  const undo = [
    watchReader(onGone),
    kernel.gate(() => writer.ready()),
    kernel.hooks.event.tap({ name: "json", stage: Stage.wire }, (event) => {
      for (const frame of frames.of(event)) writer.write(frame);
    }),
  ];
  try {
    for (const prompt of prompts) {
      if (isGone || kernel.run.closed) break;
      await runPrompt(kernel, prompt);
    }
    await writer.flush();
    if (failure) throw new Error(`The events cannot be written: ${failure.message}`);
    return 0;
  } catch (error) {
    io.stderr.write(`Error: ${messageOf(error)}\n`);
    return 1;
  } finally {
    await writer.flush();
    for (const back of undo) back();
  }
}
