/** What is wrong with a script of the model `scripted`, in words for whoever wrote it. Fields that nobody knows are passed over beside those that count. */

const fields = ["steps", "thinking", "text", "toolCalls", "error", "hang", "delayMs", "stopReason", "usage", "expect"];
const kinds = ["text", "thinking", "toolCall", "delay", "hang", "error"];

export function flawOfScript(script: unknown): string | undefined {
  if (typeof script === "function" || (isObject(script) && Array.isArray(script.responses))) return undefined;
  return 'it must hold a list "responses", be such a list, or export a function';
}

export function flawOfResponse(response: unknown, index: number): string | undefined {
  const flaw = isObject(response) ? flawIn(response) : `expected a text or an object, not ${JSON.stringify(response)}`;
  return flaw && `Response ${index + 1} of the script: ${flaw}.`;
}

function flawIn(response: Record<string, unknown>): string | undefined {
  const { steps, toolCalls } = response;
  const names = Object.keys(response);
  if (names.length > 0 && !names.some((name) => fields.includes(name))) return `it has none of ${fields.join(", ")}, but ${names.join(", ")}`;
  for (const kind of ["text", "thinking"]) if (!isText(response[kind])) return `"${kind}" must be a text or a list of texts`;
  if (toolCalls !== undefined && !Array.isArray(toolCalls)) return '"toolCalls" must be a list';
  if (steps !== undefined && !Array.isArray(steps)) return '"steps" must be a list';
  return (toolCalls as unknown[] | undefined)?.map(flawOfCall).find(Boolean) ?? (steps as unknown[] | undefined)?.map(flawOfStep).find(Boolean);
}

function flawOfCall(call: unknown): string | undefined {
  if (isObject(call) && typeof call.name === "string") return undefined;
  return `a tool call needs a "name": ${JSON.stringify(call)}`;
}

function flawOfStep(step: unknown): string | undefined {
  if (!isObject(step) || !kinds.some((kind) => kind in step)) return `a step needs one of ${kinds.join(", ")}: ${JSON.stringify(step)}`;
  for (const kind of ["text", "thinking"]) if (!isText(step[kind])) return `"${kind}" must be a text or a list of texts`;
  return "toolCall" in step ? flawOfCall(step.toolCall) : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
/** or nothing */
const isText = (value: unknown) => [value ?? []].flat().every((piece) => typeof piece === "string");
