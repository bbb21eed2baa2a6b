// node-postgres as a program uses it: `node node_postgres.js PORT`, with NODE_PATH at its packages.  One line a claim.

const assert = require("node:assert/strict");
const { Client, Pool } = require("pg");
const Cursor = require("pg-cursor");

const config = { host: "127.0.0.1", port: Number(process.argv[2]), user: "materialize", database: "materialize" };
let failed = false;

async function claim(name, hold) {
  const client = new Client(config);
  try {
    await client.connect();
    await hold(client);
    console.log(`ok ${name}`);
  } catch (problem) {
    failed = true;
    console.log(`not ok ${name}\n${problem.stack}\n${JSON.stringify(problem)}`);
  } finally {
    await client.end();
  }
}

const rows = async (client, text, values) => (await client.query({ text, values, rowMode: "array" })).rows;

async function definitionsAndChanges(client) {
  await client.query("CREATE TABLE node_bids (item int NOT NULL, price numeric(38,2), note text)");
  await client.query("CREATE MATERIALIZED VIEW node_spent AS SELECT count(*) AS n, sum(price) AS total FROM node_bids");
  const inserted = await client.query("INSERT INTO node_bids VALUES ($1, $2, $3), (2, 3, NULL)", [1, "12.5", "first"]);
  assert.deepEqual([inserted.command, inserted.rowCount], ["INSERT", 2]);
  assert.equal((await client.query("UPDATE node_bids SET price = price * 2 WHERE item = 2")).rowCount, 1);
  assert.equal((await client.query("DELETE FROM node_bids WHERE item > 100")).rowCount, 0);
  assert.deepEqual(await rows(client, "SELECT n, total FROM node_spent"), [["2", "18.5"]]);
  const several = await client.query("SELECT 1 AS one; SELECT 2 AS two");
  assert.deepEqual(several.map((result) => result.rows), [[{ one: 1 }], [{ two: 2 }]]);
}

// The value that is sent, and the one that comes back if it is another: node-postgres leaves wide numbers as text.
const VALUES = [
  ["boolean", true],
  ["smallint", -5],
  ["int", 2147483647],
  ["bigint", "-9223372036854775808"],
  ["real", 1.5],
  ["double precision", 1e300],
  ["numeric(38,4)", "-12345.6789"],
  ["text", "é \"x\" \\ '"],
  ["varchar(10)", ""],
  ["bytea", Buffer.from([0, 255])],
  ["date", "2024-07-03", new Date(2024, 6, 3)],
  ["time", "18:43:05.312456"],
  ["timestamp", new Date(1999, 11, 31, 23, 59, 59, 1)],
  ["timestamptz", new Date(Date.UTC(2024, 6, 3, 18, 43, 5, 312))],
  ["uuid", "00000000-0000-0001-0000-000000000002"],
  ["jsonb", { a: [1, null] }],
  ["int[]", [1, null, 3]],
  ["text[]", ["a", null, "x y"]],
  ["uint8", "18446744073709551615"],
];

async function parameters(client) {
  for (const [type, value, back] of VALUES) {
    const found = await rows(client, `SELECT $1::${type}, $2::${type}`, [value, null]);
    assert.deepEqual(found, [[back ?? value, null]], type);
  }
  const columns = VALUES.map(([type], i) => `c${i} ${type}`).join(", ");
  const marks = VALUES.map((_, i) => `$${i + 1}`).join(", ");
  await client.query(`CREATE TABLE node_values (${columns})`);
  await client.query(`INSERT INTO node_values VALUES (${marks})`, VALUES.map(([, value]) => value));
  const [found] = await rows(client, "SELECT * FROM node_values WHERE c0 = $1", [true]);
  assert.deepEqual(found, VALUES.map(([, value, back]) => back ?? value));
  const [[pause]] = await rows(client, "SELECT $1::interval", ["1 year 2 days 00:00:03.5"]);
  assert.deepEqual({ ...pause }, { years: 1, days: 2, seconds: 3, milliseconds: 500 });
}

async function prepared(client) {
  const query = { name: "by-item", text: "SELECT note FROM node_bids WHERE item = $1" };
  for (const [item, note] of [[1, "first"], [2, null], [1, "first"]]) {
    assert.deepEqual((await client.query({ ...query, values: [item] })).rows, [{ note }]);
  }
  assert.deepEqual((await client.query({ text: "SELECT 7::int8 AS n", binary: true })).rows, [{ n: "7" }]);
}

async function rowsInPieces(client) {
  const cursor = client.query(new Cursor("SELECT n FROM generate_series(1, $1::int) AS n ORDER BY n", [100]));
  assert.equal((await cursor.read(30)).length, 30);
  assert.deepEqual((await cursor.read(1))[0], { n: 31 });
  await cursor.close();
  assert.deepEqual(await rows(client, "SELECT 1"), [[1]]);
}

async function subscribeByCursor(client) {
  await client.query("CREATE TABLE node_followed (k int)");
  const writer = new Client(config);
  await writer.connect();
  await client.query("BEGIN");
  await client.query("DECLARE c CURSOR FOR SUBSCRIBE node_followed WITH (PROGRESS)");
  await writer.query("INSERT INTO node_followed VALUES (42)");
  for (;;) {
    const found = (await client.query("FETCH 10 c")).rows.filter((row) => !row.mz_progressed);
    if (found.length) {
      assert.deepEqual([found[0].mz_diff, found[0].k], ["1", 42]);
      break;
    }
  }
  await client.query("COMMIT");
  const follow = client.query(new Cursor("SUBSCRIBE node_followed"));
  assert.equal((await follow.read(1))[0].k, 42);
  await writer.query("INSERT INTO node_followed VALUES (43)");
  assert.equal((await follow.read(1))[0].k, 43);
  await follow.close();
  await writer.end();
  assert.deepEqual(await rows(client, "SELECT 1"), [[1]]);
}

async function errors(client) {
  await assert.rejects(client.query("SELECT itm FROM node_bids"), { code: "42703", position: "8", severity: "ERROR" });
  await assert.rejects(client.query("SELECT 1 / $1::int", [0]), { code: "22012" });
  await assert.rejects(client.query("SELECT $1::int", ["x"]), { code: "22P02" });
  await client.query("BEGIN");
  await assert.rejects(client.query("SELECT nope"), { code: "42703" });
  await assert.rejects(client.query("SELECT 1"), { code: "25P02" });
  await client.query("ROLLBACK");
  const notices = [];
  client.on("notice", (notice) => notices.push(notice.message));
  await client.query("CREATE TABLE IF NOT EXISTS node_bids (item int)");
  assert.deepEqual(notices, ['table "node_bids" already exists, skipping']);
}

async function cancel(client) {
  const following = client.query("SUBSCRIBE node_followed WITH (SNAPSHOT = false)");
  following.catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 300));
  const other = new Client(config);
  other.processID = client.processID;
  other.secretKey = client.secretKey;
  const ended = new Promise((resolve) => other.connection.once("end", resolve));
  other.connection.connect(config.port, config.host);
  other.connection.on("connect", () => other.connection.cancel(client.processID, client.secretKey));
  await ended;
  await assert.rejects(following, { code: "57014" });
  assert.deepEqual(await rows(client, "SELECT 1"), [[1]]);
}

async function pool() {
  const clients = new Pool({ ...config, max: 5 });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => clients.query("SELECT $1::int * 2 AS twice", [n])),
  );
  assert.deepEqual(answers.map((answer) => answer.rows[0].twice), Array.from({ length: 20 }, (_, n) => 2 * n));
  await clients.end();
}

async function main() {
  await claim("definitions and changes", definitionsAndChanges);
  await claim("parameters of every type", parameters);
  await claim("prepared statements", prepared);
  await claim("rows in pieces", rowsInPieces);
  await claim("subscribe", subscribeByCursor);
  await claim("errors", errors);
  await claim("cancel", cancel);
  await claim("pool", pool);
  process.exit(failed ? 1 : 0);
}

main();
