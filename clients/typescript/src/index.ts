/** The client, its error class, and the types of requests and responses. */
export { Recollect, RecollectError } from "./client.ts";
export type { ServerEvent, Settings } from "./client.ts";
export type * from "./schema.ts";
