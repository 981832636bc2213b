/** The client, its errors, and the shapes of what goes in and comes out. */
export { Recollect } from "./client.ts";
export { RecollectError } from "./transport.ts";
export type { Options, ServerEvent, Settings } from "./transport.ts";
export type * from "./schemas.ts";
