/* Draws the OpenAPI document of this server. Nothing is sent anywhere else: no validator. */
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  validatorUrl: null,
});
