// A game like Pig on boardgame.io, with one of its storages:
//
//     node server.js PORT memory
//     node server.js PORT files DIRECTORY
//     node server.js PORT postgresql URL

const { FlatFile, Server } = require("boardgame.io/server");
const { PostgresStore } = require("bgio-postgres");

const TARGET = 10_000;

const pig = {
  name: "pig",
  setup: () => ({ scores: [0, 0], total: 0 }),
  moves: {
    roll: ({ G, random, events }) => {
      const face = random.D6();
      G.total = face === 1 ? 0 : G.total + face;
      if (face === 1) events.endTurn();
    },
    hold: ({ G, ctx, events }) => {
      G.scores[ctx.currentPlayer] += G.total;
      G.total = 0;
      events.endTurn();
    },
  },
  endIf: ({ G }) => {
    const winner = G.scores.findIndex((score) => score >= TARGET);
    return winner < 0 ? undefined : { winner };
  },
};

const storages = {
  memory: () => undefined,
  files: (dir) => new FlatFile({ dir }),
  postgresql: (url) => new PostgresStore(url, { logging: false, pool: { max: 16 } }),
};

const [port, storage, where] = process.argv.slice(2);
const server = Server({ games: [pig], origins: [], db: storages[storage](where) });
server.run({ port: Number(port) });
