"""A caller in Python, written against docs/protocol.md with stock gRPC code and nothing else.

Usage: caller.py GENERATED_FOLDER ADDRESS TARGET_FILE
Calls routines that a TypeScript worker loads from TARGET_FILE, and prints one line of JSON for each outcome.
"""

import json
import queue
import sys

sys.path.insert(0, sys.argv[1])

import grpc
from wool.v1 import worker_pb2 as pb
from wool.v1 import worker_pb2_grpc as rpc

address, file = sys.argv[2:4]
outgoing = queue.Queue()
channel = grpc.insecure_channel(address)
responses = rpc.WorkerStub(channel).Dispatch(iter(outgoing.get, None))


def send(**frames):
    outgoing.put(pb.Request(**frames))


def show(**fields):
    print(json.dumps(fields), flush=True)


def read():
    """The frames of the next message, as pairs of the kind and the frame."""
    response = next(responses)
    for field, value in response.ListFields():
        if field.name == "welcome":
            yield field.name, value
        else:
            for frame in value:
                yield field.name, frame


def frames():
    while True:
        yield from read()


send(hello=pb.Hello(version=1, minimum_version=1, caller_id="python-caller", one_kind=True, encodings=["json"]))
incoming = frames()
kind, welcome = next(incoming)
show(welcome=list(welcome.languages), encodings=list(welcome.encodings), one_kind=welcome.one_kind)

numbers = {}


def route(name, streams=False):
    number = len(numbers) + 1
    numbers[name] = number
    target = f"node:{file}#{name}"
    send(routes=[pb.Route(number=number, name=name, target=target, encoding="json", streams=streams)])


for name in ("add", "order", "missing"):
    route(name)
route("count", streams=True)
route("conversation", streams=True)

last_id = 0


def task(name, *args):
    global last_id
    last_id += 1
    send(tasks=[pb.Task(id=last_id, route=numbers[name], args=json.dumps(args).encode(), sequence=last_id)])
    return last_id


def outcome(of):
    """The next outcome of a task, whatever else is said meanwhile."""
    for kind, frame in incoming:
        if kind in ("results", "yielded", "raised", "rejected") and frame.id == of:
            if kind == "raised":
                return kind, json.loads(frame.error)
            if kind == "rejected":
                return kind, {"status": frame.status, "message": frame.message}
            return kind, json.loads(frame.value) if frame.value else None


kind, value = outcome(task("add", 20, 22))
show(call="add", kind=kind, value=value)
kind, value = outcome(task("order", "tea"))
show(call="order", kind=kind, name=value["name"], message=value["message"], item=value.get("item"))
kind, value = outcome(task("missing"))
show(call="missing", kind=kind, message=value["message"])

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
show(call="cancelled", value=outcome(id)[1])
send(cancels=[pb.Cancel(id=id)])

outgoing.put(None)
channel.close()
