// An origin of Node's own servers, by HTTP/1.1, by TLS and by HTTP/2: node origin.js FOLDER
// It prints its two ports, and ends with its input.
"use strict";
const fs = require("fs");
const http = require("http");
const http2 = require("http2");
const zlib = require("zlib");

const TEXT = Array.from({ length: 20000 }, (_, number) => `line ${number}\n`).join("");

const ROUTES = {
  "/echo": (request, response) => request.pipe(response),
  "/gzip": (_, response) => {
    response.writeHead(200, { "content-encoding": "gzip" });
    response.end(zlib.gzipSync(TEXT));
  },
  "/trailers": (request, response) => {
    response.writeHead(200, { trailer: "digest" });
    response.write("hello");
    response.addTrailers({ digest: "abc" });
    response.end();
  },
  "/hints": (_, response) => {
    response.writeEarlyHints({ link: "</a>; rel=preload" });
    response.end("hello");
  },
  "/away": (_, response) => {
    response.writeHead(307, { location: "/echo" });
    response.end();
  },
  "/drops": (_, response) => {
    const pieces = Array.from("hello");
    const next = () => (pieces.length ? response.write(pieces.shift(), () => setTimeout(next, 1)) : response.end());
    next();
  },
  "/cut": (_, response) => {
    response.writeHead(200, { "content-length": 100 });
    response.write("hello", () => setTimeout(() => (response.stream || response.socket).destroy(), 20));
  },
  "/torn": (_, response) => {
    response.write("hello", () => setTimeout(() => (response.stream || response.socket).destroy(), 20));
  },
  "/none": (_, response) => {
    response.writeHead(204);
    response.end();
  },
};

function answer(request, response) {
  const path = request.url.split("?")[0];
  if (ROUTES[path]) return ROUTES[path](request, response);
  response.writeHead(200, { "content-type": "text/plain" });
  response.end(`${request.method} ${request.url} ${request.httpVersion}`);
}

const leaf = fs.readFileSync(`${process.argv[2]}/leaf.pem`);
const key = fs.readFileSync(`${process.argv[2]}/leaf.key`);
const plain = http.createServer({ keepAliveTimeout: 60000 }, answer);
const secure = http2.createSecureServer({ cert: leaf, key, allowHTTP1: true }, answer);
plain.listen(0, "127.0.0.1", () => {
  secure.listen(0, "127.0.0.1", () => console.log(`${plain.address().port} ${secure.address().port}`));
});
process.stdin.on("end", () => process.exit(0)).resume();
