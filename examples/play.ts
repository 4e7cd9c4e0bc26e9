// A game of Pig to 20 in TypeScript: whoever is to act holds where that is legal, else rolls.
// node examples/play.ts [address]     Node 22.18 or newer runs it as it is.
type Action = { kind: string };
type Outcome = { winners: number[] };
type Game = { id: string; status: string; legal_actions: Action[]; outcome: Outcome };
const base: string = process.argv[2] ?? "http://127.0.0.1:8000";

async function post(path: string, body: object, headers: Record<string, string> = {}) {
  const key = { "content-type": "application/json", "idempotency-key": crypto.randomUUID() };
  const sent = { method: "POST", headers: { ...key, ...headers }, body: JSON.stringify(body) };
  const answer = await fetch(base + path, sent);
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as { game: Game; tokens: { host: string } };
}

const seats = [{ name: "Ana" }, { name: "Ben" }];
const table = { ruleset: "pig", options: { target: 20 }, hotseat: true, seats };
let { game, tokens } = await post("/v1/games", table);
while (game.status === "playing") {
  const action = { kind: game.legal_actions.at(-1)!.kind };
  const authorization = `Bearer ${tokens.host}`;
  ({ game } = await post(`/v1/games/${game.id}/actions`, action, { authorization }));
}
console.log("winners", game.outcome.winners);
