/** Reads a recording: the requests whole again, each with the events that answered it. */
import { readFile } from "node:fs/promises";
import { KernelError, messageOf } from "../../core/index.ts";
import type { EventLine, Header, RecordedRequest, RequestLine } from "./contract.ts";

export interface Exchange {
  number: number;
  request: RecordedRequest;
  events: EventLine[];
}

export interface Recording {
  header: Header;
  exchanges: Exchange[];
}

export async function readRecording(path: string): Promise<Recording> {
  const text = await readFile(path, "utf8").catch((error) => {
    throw new KernelError("E_USAGE", `The recording ${path} cannot be read: ${messageOf(error)}`);
  });
  const [header, ...lines] = text.split("\n").flatMap((line, index) => (line.trim() ? [parsed(line, path, index + 1)] : []));
  if ((header as Header | undefined)?.recording !== 1) throw new KernelError("E_USAGE", `${path} is not a recording of model exchanges.`);
  const exchanges: Exchange[] = [];
  const byNumber = new Map<number, Exchange>();
  for (const line of lines) {
    if ("request" in line) {
      const exchange = { number: line.request, request: whole(line, exchanges.at(-1)?.request), events: [] };
      exchanges.push(exchange);
      byNumber.set(line.request, exchange);
    } else if ("of" in line) byNumber.get(line.of)?.events.push(line);
  }
  return { header: header as Header, exchanges };
}

function whole({ model, thinkingLevel, systemPrompt, tools, keeps = 0, messages }: RequestLine, before: RecordedRequest | undefined): RecordedRequest {
  return {
    model,
    thinkingLevel,
    systemPrompt: systemPrompt ?? before?.systemPrompt ?? "",
    tools: tools ?? before?.tools ?? [],
    messages: [...(before?.messages.slice(0, keeps) ?? []), ...messages],
  };
}

function parsed(line: string, path: string, number: number): Header | RequestLine | EventLine {
  try {
    return JSON.parse(line);
  } catch {
    throw new KernelError("E_USAGE", `${path}, line ${number}: not JSON`);
  }
}
