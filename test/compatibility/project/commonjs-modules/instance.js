const Stack = require("./stack");

module.exports = new Stack();
