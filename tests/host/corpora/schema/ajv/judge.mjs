// Judges values by ajv. In: lines of `{"schema": …, "values": […]}`. Out: for each a line, the list of its verdicts or
// what ajv says against the schema.
import Ajv from "ajv/dist/2020.js";
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
  const { schema, values } = JSON.parse(line);
  let answer;
  try {
    const validate = new Ajv({ strict: false, validateFormats: false, logger: false }).compile(schema);
    answer = values.map((value) => validate(value));
  } catch (error) {
    answer = error.message;
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
