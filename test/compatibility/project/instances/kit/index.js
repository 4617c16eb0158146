const { mark } = require("./lib/base.js").constructor;

exports.make = (name) => Object.assign(Object.create(Object.getPrototypeOf(require("./lib/shape.js"))), { name });
exports.plain = (name) => new (require("./lib/base.js").constructor)(name);
exports.isMade = (value) => Object.prototype.isPrototypeOf.call(Object.getPrototypeOf(require("./lib/base.js")), value);
exports.mood = () => new (require("./lib/mood.js").constructor)();
exports.mark = mark;
