"""What a Python worker serves in the tests."""

import pathlib
import time


def add(x, y):
    return x + y


def echo(value=None):
    return value


class OutOfStock(Exception):
    def __init__(self, item):
        super().__init__(f"no {item} left")
        self.item = item


def order(item):
    raise OutOfStock(item)


def count(limit):
    for number in range(limit):
        yield number
    return "done"


def conversation(name):
    """Answers each value that it is sent, and a throw, and notes how it ended."""
    said = f"hello {name}"
    try:
        while True:
            try:
                heard = yield said
                said = f"you said {heard}"
            except Exception as error:
                said = f"caught {error}"
    finally:
        pass


def ticks(path):
    """Never ends by itself; leaves a mark when it is closed."""
    number = 0
    try:
        while True:
            yield number
            number += 1
    finally:
        pathlib.Path(path).write_text(f"closed after {number}")


def nap(seconds):
    time.sleep(seconds)
    return "slept"
