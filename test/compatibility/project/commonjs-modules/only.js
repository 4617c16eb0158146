module.exports = (n) => n + 1;
module.exports.version = "1";
