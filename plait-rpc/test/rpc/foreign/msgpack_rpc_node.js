// Calls a server by msgpack-rpc-node and tells in JSON what it got. It takes each piece that arrives for one whole message, so it
// is given small ones, one after another.
const { Client, TcpClient } = require("msgpack-rpc-node");

const [host, port, values] = process.argv.slice(2);

async function work() {
  const client = new Client(TcpClient, Number(port), host);
  await client.connect();
  const told = { echo: [], many: [] };
  told.sum = await client.call("add", 1, 2);
  for (const value of JSON.parse(values)) told.echo.push(await client.call("echo", value));
  for (let i = 0; i < 200; i++) told.many.push(await client.call("add", i, 1));
  client.notify("note", "hello");
  await client.call("break_down").catch((error) => { told.error = String(error); });
  console.log(JSON.stringify(told));
  client.close();
}

work().catch((error) => { console.error(error); process.exit(1); });
