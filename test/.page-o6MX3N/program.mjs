var __knownSymbol = (name, symbol) => ((symbol = Symbol[name]) ? symbol : /* @__PURE__ */ Symbol.for("Symbol." + name));
var __typeError = (msg) => {
  throw TypeError(msg);
};
var __using = (stack, value, async) => {
  if (value != null) {
    if (typeof value !== "object" && typeof value !== "function") __typeError("Object expected");
    var dispose, inner;
    if (async) dispose = value[__knownSymbol("asyncDispose")];
    if (dispose === void 0) {
      dispose = value[__knownSymbol("dispose")];
      if (async) inner = dispose;
    }
    if (typeof dispose !== "function") __typeError("Object not disposable");
    if (inner)
      dispose = function () {
        try {
          inner.call(this);
        } catch (e) {
          return Promise.reject(e);
        }
      };
    stack.push([async, dispose, value]);
  } else if (async) {
    stack.push([async]);
  }
  return value;
};
var __callDispose = (stack, error, hasError) => {
  var E =
    typeof SuppressedError === "function"
      ? SuppressedError
      : function (e, s, m, _2) {
          return ((_2 = Error(m)), (_2.name = "SuppressedError"), (_2.error = e), (_2.suppressed = s), _2);
        };
  var fail = (e) =>
    (error = hasError ? new E(e, error, "An error was suppressed during disposal") : ((hasError = true), e));
  var next = (it) => {
    while ((it = stack.pop())) {
      try {
        var result = it[1] && it[1].call(it[2]);
        if (it[0]) return Promise.resolve(result).then(next, (e) => (fail(e), next()));
      } catch (e) {
        fail(e);
      }
    }
    if (hasError) throw error;
  };
  return next();
};

import { routine, WorkerPool } from "wool-ts";

var _stack = [];
try {
  var OutOfStock = class extends Error {
    constructor(item) {
      super(`no ${item} left`);
      this.item = item;
    }
    item;
  };
  var order = routine(async (item) => {
    throw new OutOfStock(item);
  });
  var pool = __using(_stack, await WorkerPool.start({ size: 1 }), true);
  try {
    await order("wool");
  } catch (error) {
    console.log(error instanceof OutOfStock && error.item);
  }
} catch (_) {
  var _error = _,
    _hasError = true;
} finally {
  var _promise = __callDispose(_stack, _error, _hasError);
  _promise && (await _promise);
}
