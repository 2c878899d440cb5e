/** The type of `pi-kernel/distributions/<name>`. */
import type { PluginList } from "../core/index.ts";

declare const list: PluginList;
export default list;
