/**
 * The browser's verifier as a process: a request on each line of the input, a report on each line
 * of the output. A request names the bytes (base64), and what is given besides.
 */
import { createInterface } from "node:readline";

import { verify } from "../service/web/verify.js";

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { data, claim, receipts, public_keys: publicKeys } = JSON.parse(line);
  const bytes = new Uint8Array(Buffer.from(data, "base64"));
  process.stdout.write(`${JSON.stringify(verify(bytes, { claim, receipts, publicKeys }))}\n`);
}
