"""A caller in Python, written against docs/protocol.md with stock gRPC code and nothing else.

Usage: caller.py GENERATED_FOLDER ADDRESS TARGET_FILE

Calls functions that a worker in Node.js loads from TARGET_FILE, and prints one line of JSON for each outcome.
"""

import json
import queue
import sys

sys.path.insert(0, sys.argv[1])

import grpc
from wool.v1 import worker_pb2 as pb
from wool.v1 import worker_pb2_grpc as rpc

CHUNK_BYTES = 128 * 1024

address, file = sys.argv[2:4]
outgoing = queue.Queue()
channel = grpc.insecure_channel(address)
responses = rpc.WorkerStub(channel).Dispatch(iter(outgoing.get, None))
most_kinds = 0


def send(**frames):
    """One kind of frame in each message: stock code cannot tell the order of several kinds."""
    outgoing.put(pb.Request(**frames))


def show(**fields):
    print(json.dumps(fields), flush=True)


def frames():
    """The frames of all messages, as pairs of the kind and the frame."""
    global most_kinds
    for response in responses:
        fields = response.ListFields()
        most_kinds = max(most_kinds, len(fields))
        for field, value in fields:
            for frame in [value] if field.name == "welcome" else value:
                yield field.name, frame


hello = pb.Hello(version=1, minimum_version=1, caller_id="python-caller", one_kind=True)
hello.languages.append("py")
hello.encodings.append("json")
send(hello=hello)
incoming = frames()
kind, welcome = next(incoming)
show(welcome=list(welcome.languages), encodings=list(welcome.encodings))

numbers = {}


def route(name, target=None, streams=False):
    """Tells the worker once of a function, which tasks then name by number."""
    numbers[name] = len(numbers) + 1
    target = target or f"node:{file}#{name}"
    send(routes=[pb.Route(number=numbers[name], name=name, target=target, encoding="json", streams=streams)])


for name in ("add", "echo", "order", "missing", "waiting"):
    route(name)
route("foreign", target="py:shop:add")
route("count", streams=True)
route("conversation", streams=True)

last_id = 0


def task(name, *args):
    """Sends a call. Large arguments go in chunks before it."""
    global last_id
    last_id += 1
    payload = json.dumps(args).encode()
    number = numbers[name]
    if len(payload) <= 2 * CHUNK_BYTES:
        send(tasks=[pb.Task(id=last_id, route=number, args=payload, sequence=last_id)])
        return last_id
    for start in range(0, len(payload), CHUNK_BYTES):
        total = len(payload) if start == 0 else 0
        send(chunks=[pb.Chunk(id=last_id, data=payload[start : start + CHUNK_BYTES], total=total)])
    send(tasks=[pb.Task(id=last_id, route=number, chunked=len(payload), sequence=last_id)])
    return last_id


def outcome(of):
    """The next outcome of a task, whatever else is said meanwhile."""
    chunks = b""
    for kind, frame in incoming:
        if kind == "chunks" and frame.id == of:
            chunks += frame.data
        if kind == "rejected" and frame.id == of:
            return kind, {"status": frame.status, "message": frame.message}
        if kind in ("results", "yielded", "raised") and frame.id == of:
            payload = chunks if frame.chunked else frame.error if kind == "raised" else frame.value
            return kind, json.loads(payload) if payload else None


kind, value = outcome(task("add", 20, 22))
show(call="add", kind=kind, value=value)
text = "x" * 400000
kind, value = outcome(task("echo", text))
show(call="echo", kind=kind, size=len(value), same=value == text)
kind, value = outcome(task("order", "tea"))
show(call="order", kind=kind, name=value["name"], message=value["message"], item=value.get("item"))
kind, value = outcome(task("missing"))
show(call="missing", kind=kind, name=value["name"], says='exports no function "missing"' in value["message"])
kind, value = outcome(task("foreign", 1, 2))
show(call="foreign", kind=kind, status=value["status"])

id = task("count", 3)
for _ in range(4):
    send(credits=[pb.Credit(id=id, steps=1)])
    kind, value = outcome(id)
    show(call="count", kind=kind, value=value)

id = task("conversation", "ada")
send(credits=[pb.Credit(id=id, steps=1)])
show(call="conversation", value=outcome(id)[1])
send(steps=[pb.Step(id=id, kind=pb.STEP_KIND_NEXT, value=b'"fine"', after=1)])
show(call="conversation", value=outcome(id)[1])
send(steps=[pb.Step(id=id, kind=pb.STEP_KIND_THROW, value=b'{"name":"Error","message":"oh no"}', after=1)])
show(call="conversation", value=outcome(id)[1])
send(steps=[pb.Step(id=id, kind=pb.STEP_KIND_RETURN, value=b'"bye"', after=1)])
show(call="conversation", value=outcome(id)[1])

id = task("count", 1000000)
send(credits=[pb.Credit(id=id, steps=1)])
kind, first = outcome(id)
send(cancels=[pb.Cancel(id=id)])
kind, value = outcome(id)
show(call="cancelled stream", first=first, kind=kind, name=value["name"])

id = task("waiting")
send(cancels=[pb.Cancel(id=id)])
kind, value = outcome(id)
show(call="cancelled", kind=kind, name=value["name"])

show(kinds=most_kinds)
outgoing.put(None)
channel.close()
