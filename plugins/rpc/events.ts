/** Schemas of the records that exist on the RPC wire only. */
import { type TSchema, Type } from "typebox";
import { definePlugin } from "../../core/index.ts";
import { eventSchema, idSchema, oneOf } from "../shared/schemas.ts";

const text = () => Type.String();
const optionalText = () => Type.Optional(Type.String());
const timeout = () => Type.Optional(Type.Integer({ minimum: 1 }));

const requests: Record<string, () => Record<string, TSchema>> = {
  select: () => ({ title: text(), options: Type.Array(text()), timeout: timeout() }),
  confirm: () => ({ title: text(), message: text(), timeout: timeout() }),
  input: () => ({ title: text(), placeholder: optionalText(), timeout: timeout() }),
  editor: () => ({ title: text(), prefill: optionalText(), timeout: timeout() }),
  notify: () => ({ message: text(), notifyType: Type.Optional(oneOf("info", "warning", "error")) }),
  setStatus: () => ({ statusKey: text(), statusText: optionalText() }),
  setWidget: () => ({
    widgetKey: text(),
    widgetLines: Type.Optional(Type.Array(text())),
    widgetPlacement: Type.Optional(oneOf("aboveEditor", "belowEditor")),
  }),
  setTitle: () => ({ title: text() }),
  set_editor_text: () => ({ text: text() }),
};

const uiRequest = () =>
  Type.Union(
    Object.entries(requests).map(([method, fields]) => eventSchema("extension_ui_request", { id: text(), method: Type.Literal(method), ...fields() })),
  );

const response = () => {
  const head = { id: Type.Optional(idSchema()), command: text() };
  return Type.Union([
    eventSchema("response", { ...head, success: Type.Literal(true), data: Type.Optional(Type.Unknown()) }),
    eventSchema("response", { ...head, success: Type.Literal(false), error: Type.String({ minLength: 1 }) }),
  ]);
};

export const wireRecords = definePlugin({
  name: "rpc:records",
  apply(kernel) {
    const events = kernel.registry("events");
    events.add({ name: "response", schema: response });
    events.add({ name: "extension_ui_request", schema: uiRequest });
    events.add({ name: "extension_error", schema: () => eventSchema("extension_error", { extensionPath: text(), event: text(), error: text() }) });
  },
});
