/** `typebox/value` for extensions. */
import * as value1 from "typebox/value";

const Value = { ...value1.Value, Cast: value1.Repair };

export const value = { ...value1, Cast: value1.Repair, Value, default: Value };
