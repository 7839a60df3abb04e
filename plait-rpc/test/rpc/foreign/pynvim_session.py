"""Calls a server by pynvim's session, is called back by it, and tells in JSON what it got."""
import json
import sys

from pynvim.msgpack_rpc import tcp_session

told = {}
session = tcp_session(sys.argv[1], int(sys.argv[2]))
session.error_wrapper = lambda error: Exception(error[1])


def work():
    try:
        told["sum"] = session.request("add", 1, 2)
        told["echo"] = [session.request("echo", value) for value in json.loads(sys.argv[3])]
        told["large"] = len(session.request("echo", "x" * 1000000))
        told["many"] = [session.request("add", i, 1) for i in range(200)]
        session.request("note", "hello", async_=True)
        told["back"] = session.request("ask_back", 20)
        try:
            session.request("break_down")
        except Exception as error:
            told["error"] = str(error)
    finally:
        session.stop()


def answer(name, args):
    return args[0] * 2 if name == "double" else None


session.run(answer, lambda name, args: None, work)
print(json.dumps(told))
