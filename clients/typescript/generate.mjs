/**
 * Read the server's OpenAPI document from stdin and print src/schema.ts. `make typescript` runs it.
 *
 * Error responses are left out: the client throws each of them as RecollectError, and they are three quarters of the
 * document.
 */
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const HEAD = "// Generated from the server's OpenAPI document by `make typescript`. Do not edit.\n\n";
const BLOB = ts.factory.createTypeReferenceNode("Blob");

let text = "";
for await (const piece of process.stdin) text += piece;
// A title repeats the name of its field.
const document = JSON.parse(text, (name, value) => (name === "title" && typeof value === "string" ? undefined : value));
for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
  for (const [status, response] of Object.entries(operation.responses)) {
    if (!status.startsWith("2")) delete operation.responses[status];
    delete response.headers;
  }
}

const types = await openapiTS(document, {
  defaultNonNullable: false, // a field with a default may be left out of a request
  rootTypes: true,
  rootTypesNoSchemaPrefix: true,
  transform: (schema) => (schema.format === "binary" ? BLOB : undefined),
});
process.stdout.write(HEAD + astToString(types));
