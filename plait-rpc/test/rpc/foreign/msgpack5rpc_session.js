// Calls a server by msgpack5rpc, is called back by it, and tells in JSON what it got.
const net = require("net");
const Session = require("msgpack5rpc");

const [host, port, values] = process.argv.slice(2);
const socket = net.connect(Number(port), host);
const session = new Session();
session.attach(socket, socket);
session.on("request", (name, args, response) => response.send(name === "double" ? args[0] * 2 : null));

const request = (name, ...args) => new Promise((resolve, reject) => {
  session.request(name, args, (error, result) => (error ? reject(error) : resolve(result)));
});

async function work() {
  const told = {};
  told.sum = await request("add", 1, 2);
  told.echo = await Promise.all(JSON.parse(values).map((value) => request("echo", value)));
  told.large = (await request("echo", "x".repeat(1000000))).length;
  told.many = await Promise.all(Array.from({ length: 200 }, (_, i) => request("add", i, 1)));
  session.notify("note", ["hello"]);
  told.back = await request("ask_back", 20);
  await request("break_down").catch((error) => { told.error = String(error); });
  console.log(JSON.stringify(told));
}

work().catch((error) => { console.error(error); process.exitCode = 1; }).finally(() => socket.destroy());
