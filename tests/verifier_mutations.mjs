/**
 * Every byte of a log changed, one at a time: its lowest, its case and its highest bit, and into
 * bytes that mean something in JSON. Reads {log: base64, receipt, public_key} and prints what the
 * verifier let pass.
 */
import { readFileSync } from "node:fs";

import { verify } from "../service/web/verify.js";

const { log, receipt, public_key: publicKey } = JSON.parse(readFileSync(0, "utf8"));
const bytes = new Uint8Array(Buffer.from(log, "base64"));
const last = bytes.lastIndexOf(0x0a, bytes.length - 2) + 1;
const signed = { receipts: [receipt], publicKeys: [publicKey] };
const found = { tried: 0, passed_before_last: [], passed_in_last: 0, passed_with_receipt: [] };

function replacements(byte) {
  const bits = [0x01, 0x20, 0x80].map((bit) => byte ^ bit);
  const marks = [0x00, 0x0a, 0x22, 0x30, 0xff];
  return [...new Set([...bits, ...marks])].filter((other) => other !== byte);
}

for (let place = 0; place < bytes.length; place++) {
  const mutant = bytes.slice();
  for (const other of replacements(bytes[place])) {
    mutant[place] = other;
    found.tried += 1;
    if (!verify(mutant).ok) continue;
    if (place < last) found.passed_before_last.push(place);
    else found.passed_in_last += 1;
    if (verify(mutant, signed).ok) found.passed_with_receipt.push(place);
  }
}

process.stdout.write(JSON.stringify({ ...found, unchanged: verify(bytes, signed).ok }));
