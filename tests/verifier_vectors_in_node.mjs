/** Prints how the page's verifier does on the test vectors that it is given. */
import { readFileSync } from "node:fs";

import * as fairDice from "../service/web/verify.js";
import { checkVectors } from "./verifier_vectors.mjs";

process.stdout.write(JSON.stringify(checkVectors(fairDice, JSON.parse(readFileSync(0, "utf8")))));
