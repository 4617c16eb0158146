"""A worker in Python, written against docs/protocol.md with stock gRPC code and nothing else.

Usage: worker.py GENERATED_FOLDER MODULES_FOLDER

Listens on a free port of 127.0.0.1 and prints it. Ends when its standard input does.
"""

import importlib
import json
import queue
import sys
import threading
import traceback
import uuid
from concurrent import futures

sys.path[:0] = sys.argv[1:3]

import grpc
from wool.v1 import worker_pb2 as pb
from wool.v1 import worker_pb2_grpc as rpc

VERSION = 1
UID = str(uuid.uuid4())


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Task:
    """One call. A thread runs it; generators are advanced by a queue of steps."""

    def __init__(self, session, frame, route):
        self.session = session
        self.id = frame.id
        self.route = route
        self.args = json.loads(frame.args or b"[]")
        self.cancelled = threading.Event()
        self.changed = threading.Condition()
        self.credit = 0
        self.plain = 0
        self.controls = []
        self.over = False

    def run(self):
        self.session.send(accepted=[pb.Accepted(id=self.id)])
        try:
            fn = resolve(self.route.target)
            result = fn(*self.args)
            if self.route.streams:
                self.pump(result)
                return
            self.end(results=[pb.Result(id=self.id, value=encode(result))])
        except BaseException as error:
            self.end(raised=[pb.Raised(id=self.id, error=encode_error(error))])

    def pump(self, generator):
        """Takes one step for each that was asked for, in the order that the protocol gives them."""
        started = False
        while True:
            step = self.next_step()
            if step is None:
                generator.close()
                self.end()
                return
            kind, value = step
            try:
                if kind == pb.STEP_KIND_RETURN:
                    generator.close()
                    self.end(results=[pb.Result(id=self.id, value=encode(value))])
                    return
                if kind == pb.STEP_KIND_THROW:
                    item = generator.throw(RemoteError(value))
                elif started and value is not None:
                    item = generator.send(value)
                else:
                    item = next(generator)
            except StopIteration as stop:
                self.end(results=[pb.Result(id=self.id, value=encode(stop.value))])
                return
            started = True
            control = kind != pb.STEP_KIND_NEXT
            self.session.send(yielded=[pb.Yielded(id=self.id, value=encode(item), control=control)])

    def next_step(self):
        with self.changed:
            while True:
                if self.cancelled.is_set():
                    return None
                if self.controls and self.plain >= self.controls[0][2]:
                    kind, value, _ = self.controls.pop(0)
                    return kind, value
                if self.credit > 0:
                    self.credit -= 1
                    self.plain += 1
                    return pb.STEP_KIND_NEXT, None
                self.changed.wait()

    def grant(self, steps):
        with self.changed:
            self.credit += steps
            self.changed.notify()

    def step(self, frame):
        with self.changed:
            value = json.loads(frame.value) if frame.value else None
            self.controls.append((frame.kind, value, frame.after))
            if frame.kind != pb.STEP_KIND_NEXT:
                self.plain = min(self.plain, frame.after)
                self.credit = frame.after - self.plain
            self.changed.notify()

    def cancel(self):
        with self.changed:
            self.cancelled.set()
            self.changed.notify()

    def end(self, **frames):
        self.session.tasks.pop(self.id, None)
        if not frames:
            frames = {"raised": [pb.Raised(id=self.id, error=encode_error(Exception("cancelled")))]}
        self.session.send(**frames)


class Session:
    """One stream of one caller."""

    def __init__(self):
        self.outgoing = queue.Queue()
        self.routes = {}
        self.tasks = {}

    def send(self, **frames):
        """One kind of frame in each message: stock code cannot tell the order of several kinds."""
        self.outgoing.put(pb.Response(**frames))

    def take(self, request):
        for route in request.routes:
            self.routes.pop(route.replaces, None)
            self.routes[route.number] = route
        for frame in request.tasks:
            self.start(frame)
        for credit in request.credits:
            if credit.id in self.tasks:
                self.tasks[credit.id].grant(credit.steps)
        for step in request.steps:
            if step.id in self.tasks:
                self.tasks[step.id].step(step)
        for cancel in request.cancels:
            if cancel.id in self.tasks:
                self.tasks[cancel.id].cancel()

    def start(self, frame):
        try:
            route = self.routes.get(frame.route)
            if route is None:
                raise Refused(grpc.StatusCode.INTERNAL, "the task names an unknown route")
            if not route.target.startswith("py:"):
                raise Refused(grpc.StatusCode.UNIMPLEMENTED, "this worker runs Python only")
            if route.encoding != "json":
                raise Refused(grpc.StatusCode.UNIMPLEMENTED, "this worker understands json only")
        except Refused as refused:
            status = refused.status.value[0]
            self.send(rejected=[pb.Rejected(id=frame.id, status=status, message=str(refused))])
            return
        task = Task(self, frame, route)
        self.tasks[frame.id] = task
        threading.Thread(target=task.run, daemon=True).start()


class RemoteError(Exception):
    """What a caller threw into a generator."""

    def __init__(self, description):
        super().__init__(description.get("message", "") if isinstance(description, dict) else str(description))
        self.description = description


def resolve(target):
    module, name = target.removeprefix("py:").rsplit(":", 1)
    return getattr(importlib.import_module(module), name)


def encode(value):
    return b"" if value is None else json.dumps(value).encode()


def encode_error(error):
    description = {
        "name": type(error).__name__,
        "message": str(error),
        "stack": "".join(traceback.format_exception(error)),
    }
    return json.dumps({**vars(error), **description}, default=str).encode()


class Worker(rpc.WorkerServicer):
    def Dispatch(self, requests, context):
        first = next(requests)
        if not first.HasField("hello"):
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "the first message must be a hello")
        if first.hello.minimum_version > VERSION:
            message = f"the caller accepts version {first.hello.minimum_version} at least, this worker speaks {VERSION}"
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, message)
        session = Session()
        welcome = pb.Welcome(version=VERSION, worker_uid=UID, lanes=1, one_kind=True)
        welcome.languages.append("py")
        welcome.encodings.append("json")
        yield pb.Response(welcome=welcome)

        def read():
            try:
                for request in requests:
                    session.take(request)
            except grpc.RpcError:
                pass
            finally:
                for task in list(session.tasks.values()):
                    task.cancel()
                session.outgoing.put(None)

        threading.Thread(target=read, daemon=True).start()
        while (response := session.outgoing.get()) is not None:
            yield response

    def Stop(self, request, context):
        return pb.StopResponse()

    def Idle(self, request, context):
        return pb.IdleResponse(seconds=0)


server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
rpc.add_WorkerServicer_to_server(Worker(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
sys.stdin.read()
server.stop(grace=0)
