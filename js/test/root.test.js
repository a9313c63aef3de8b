// Schemas of answers that are no object, put into one: references still lead to what they led to.
import assert from "node:assert/strict";
import { test } from "node:test";
import { wrapped } from "../client/root.js";

test("what is no object is the only member of one, and its definitions stay at the root", () => {
  const $defs = { node: { type: "object", properties: { all: { $ref: "#" }, first: { $ref: "#/items" }, self: { $ref: "#/$defs/node" } } } };
  const schema = { $schema: "https://json-schema.org/draft/2020-12/schema", $id: "x", type: "array", items: { $ref: "#/$defs/node" }, $defs };
  assert.deepEqual(wrapped(schema), {
    type: "object",
    properties: { value: { type: "array", items: { $ref: "#/$defs/node" } } },
    required: ["value"],
    additionalProperties: false,
    $defs: { node: { type: "object", properties: { all: { $ref: "#/properties/value" }, first: { $ref: "#/properties/value/items" }, self: { $ref: "#/$defs/node" } } } },
  });
  assert.deepEqual(schema.$defs, $defs, "what was given stays as it was");
});

test("what only looks like a reference is a value", () => {
  const schema = { enum: [{ $ref: "#" }, "#"], default: { $ref: "#" }, examples: [{ $ref: "#/x" }], $ref: "https://example.org/#/x" };
  assert.deepEqual(wrapped(schema).properties.value, schema);
});
