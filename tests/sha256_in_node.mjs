/** Answers pairs of a key and a message, as hex, with the message's hash and its MAC under the key. */

import { readFileSync } from "node:fs";

import { bytesOf, hexOf } from "../service/web/fair-dice.js";
import { hmacSha256, sha256 } from "../service/web/sha256.js";

const pairs = JSON.parse(readFileSync(0, "utf8")).map((pair) => pair.map(bytesOf));
const answers = pairs.map(([key, message]) => [sha256(message), hmacSha256(key, message)]);
process.stdout.write(JSON.stringify(answers.map((pair) => pair.map(hexOf))));
