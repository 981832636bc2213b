// Swagger UI for the HTTP API of this server. Nothing is loaded from the network.
"use strict";

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api-docs",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: -1,
  tryItOutEnabled: true,
  filter: true,
});
