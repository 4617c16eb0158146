"""A worker in Python, written against docs/protocol.md with stock gRPC code and nothing else.

Usage: worker.py GENERATED_FOLDER MODULES_FOLDER

Listens on a free port of 127.0.0.1 and prints it. Ends when its standard input does.
"""

import importlib
import json
import os
import queue
import sys
import threading
import time
import traceback
import uuid
from concurrent import futures

sys.path[:0] = sys.argv[1:3]

import grpc
from wool.v1 import worker_pb2 as pb
from wool.v1 import worker_pb2_grpc as rpc

VERSION = 1
UID = str(uuid.uuid4())
# Payloads beyond this travel in chunks.
INLINE_BYTES = 256 * 1024
CHUNK_BYTES = 128 * 1024


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
        self.args = json.loads(session.payload(frame, frame.args) or b"[]")
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
            self.end("results", encode(result))
        except BaseException as error:
            self.end("raised", encode_error(error))

    def pump(self, generator):
        """Takes one step for each that was asked for, in the order that the protocol gives them."""
        started = False
        while True:
            step = self.next_step()
            if step is None:
                generator.close()
                self.end("raised", encode_error(Exception("cancelled")))
                return
            kind, value = step
            try:
                if kind == pb.STEP_KIND_RETURN:
                    generator.close()
                    self.end("results", encode(value))
                    return
                if kind == pb.STEP_KIND_THROW:
                    item = generator.throw(RemoteError(value))
                elif started and value is not None:
                    item = generator.send(value)
                else:
                    item = next(generator)
            except StopIteration as stop:
                self.end("results", encode(stop.value))
                return
            started = True
            control = kind != pb.STEP_KIND_NEXT
            self.session.answer("yielded", self.id, encode(item), control=control)

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
            payload = self.session.payload(frame, frame.value)
            value = json.loads(payload) if payload else None
            self.controls.append((frame.kind, value, frame.after))
            if frame.kind != pb.STEP_KIND_NEXT:
                self.plain = min(self.plain, frame.after)
                self.credit = frame.after - self.plain
            self.changed.notify()

    def cancel(self):
        """A generator is closed. Nothing can end a function; its caller has the last word at once, and no result."""
        with self.changed:
            self.cancelled.set()
            self.changed.notify()
        if not self.route.streams:
            self.end("raised", encode_error(Exception("cancelled")))

    def end(self, kind, payload):
        """The last word on the task, once: its id may be used again after it."""
        global last_ended
        with self.changed:
            if self.over:
                return
            self.over = True
        last_ended = time.monotonic()
        del self.session.tasks[self.id]
        self.session.answer(kind, self.id, payload)


class Session:
    """One stream of one caller."""

    def __init__(self):
        self.outgoing = queue.Queue()
        self.routes = {}
        self.tasks = {}
        self.chunks = {}

    def send(self, **frames):
        """One kind of frame in each message: stock code cannot tell the order of several kinds."""
        self.outgoing.put(pb.Response(**frames))

    def answer(self, kind, id, payload, **fields):
        """Sends an outcome. A large one goes in chunks before its frame, which says how many bytes they were."""
        frame, field = OUTCOMES[kind]
        if len(payload) <= INLINE_BYTES:
            self.send(**{kind: [frame(id=id, **{field: payload}, **fields)]})
            return
        for start in range(0, len(payload), CHUNK_BYTES):
            total = len(payload) if start == 0 else 0
            self.send(chunks=[pb.Chunk(id=id, data=payload[start : start + CHUNK_BYTES], total=total)])
        self.send(**{kind: [frame(id=id, chunked=len(payload), **fields)]})

    def payload(self, frame, inline):
        """The payload of a frame: in the frame, or in the chunks before it."""
        if frame.chunked == 0:
            return inline
        whole = bytes(self.chunks.pop(frame.id, b""))
        if len(whole) != frame.chunked:
            raise ValueError(f"{len(whole)} of {frame.chunked} bytes arrived")
        return whole

    def take(self, request):
        for chunk in request.chunks:
            self.chunks.setdefault(chunk.id, bytearray()).extend(chunk.data)
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
            self.chunks.pop(cancel.id, None)
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
            self.chunks.pop(frame.id, None)
            status = refused.status.value[0]
            self.send(rejected=[pb.Rejected(id=frame.id, status=status, message=str(refused))])
            return
        try:
            task = Task(self, frame, route)
        except ValueError as error:
            self.answer("raised", frame.id, encode_error(error))
            return
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
    """Refuses what JSON has no form for, and what other languages would not read."""
    return json.dumps(value, allow_nan=False).encode()


def encode_error(error):
    """An error that the caller threw into a generator goes back as it came."""
    if isinstance(error, RemoteError):
        return json.dumps(error.description).encode()
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
        sessions.add(session)
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
                sessions.discard(session)
                for task in list(session.tasks.values()):
                    task.cancel()
                session.outgoing.put(None)

        threading.Thread(target=read, daemon=True).start()
        while (response := session.outgoing.get()) is not None:
            yield response

    def Stop(self, request, context):
        threading.Timer(0.05, stopped.set).start()
        return pb.StopResponse()

    def Idle(self, request, context):
        return pb.IdleResponse(seconds=0 if running() else time.monotonic() - last_ended)

    def Describe(self, request, context):
        about = {"uid": UID, "pid": os.getpid(), "version": "", "languages": ["py"], "channel": {}}
        return pb.DescribeResponse(metadata=json.dumps(about))


def running():
    return any(session.tasks for session in list(sessions))


def watch_input():
    sys.stdin.read()
    stopped.set()


OUTCOMES = {"results": (pb.Result, "value"), "yielded": (pb.Yielded, "value"), "raised": (pb.Raised, "error")}
stopped = threading.Event()
sessions = set()
last_ended = time.monotonic()
# Callers ask a worker that is silent whether it lives. The library would take that for an attack.
options = [("grpc.http2.max_ping_strikes", 0)]
server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), options=options)
rpc.add_WorkerServicer_to_server(Worker(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
threading.Thread(target=watch_input, daemon=True).start()
stopped.wait()
server.stop(grace=0)
os._exit(0)
